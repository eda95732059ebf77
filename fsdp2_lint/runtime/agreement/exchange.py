"""Facts of many ranks, compared through the store that the job has anyway: no collective, no device.

The store is one thread on one machine, and a job may have thousands of ranks. So no rank reads what every rank says:
what ranks have in common they ask for as a digest, of whoever came first, and only who differs from that fetches the
text. In the end whoever comes last compares for all. What a rank sends and fetches does not grow with the world.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from ...report.codec import digest_of, fact_as_json, fact_from_json, ranks_as_text
from ...vocab.facts import Fact, Facts
from .. import adapter

PATIENCE = timedelta(seconds=10)
MANY = 256  # texts that are fetched at once
_LOST = (RuntimeError, OSError)  # torch's timeouts and lost connections are runtime errors
_asked: Counter[str] = Counter()
Said = tuple[int, Fact]


@dataclass(frozen=True, slots=True)
class Meeting:
    """``first``: the rank that came first. ``facts``: its fact and this rank's, where they differ; else none."""

    first: int
    facts: Facts
    speaks: bool = False  # no other rank has said yet that they differ


def meet(fact: Fact, rank: int) -> Meeting | None:
    """Compare a fact that ranks ought to share with that of the first of them to come, or None if there is no telling.

    Ranks are about to wait for each other in a collective; here nobody waits, but for the text of who came first
    where it is another one.
    """
    if (store := adapter.store()) is None:
        return None
    name = _name(fact)
    try:
        return _meet(store, f"{name}/{_again(name)}", fact, rank)
    except _LOST:
        return None


def _name(fact: Fact) -> str:
    # With the ranks in it: of two meshes, one rank may be in both and another in one only.
    return f"{fact.kind}/{_digest(fact.key)}/{_mesh(fact)}"


def _mesh(fact: Fact) -> str:
    """The ranks of a mesh, which may be thousands, in a few letters."""
    return _digest(ranks_as_text(fact.ranks))


def _meet(store: Any, name: str, fact: Fact, rank: int) -> Meeting:
    own = digest_of(fact)
    digest, first = _first(store, name, own, rank)
    if first == rank:
        store.set(f"{name}/text", json.dumps(fact_as_json(fact)))
    if digest == own:
        return Meeting(first, {})
    text = _text(store, f"{name}/text")
    speaks = store.add(f"{name}/differ", 1) == 1
    return Meeting(first, {first: fact_from_json(json.loads(text)), rank: fact}, speaks)


def _first(store: Any, name: str, digest: str, rank: int) -> tuple[str, int]:
    """The digest of who came first, and its rank. It takes one request."""
    there, _, first = store.compare_set(name, "", f"{digest} {rank}").decode().partition(" ")
    return there, int(first)


def _text(store: Any, key: str) -> bytes:
    store.wait([key], PATIENCE)
    text: bytes = store.get(key)
    return text


# In the end


Compare = Callable[[Sequence[Said]], str]
"""Puts the facts of all ranks side by side; what comes of it, as a text. It must not raise."""


def compare_all(own: Sequence[Fact], rank: int, different: Iterable[str], compare: Compare) -> str:
    """What comes of the comparison of all that the ranks have said, or of this one's if others do not answer.

    ``different`` are the kinds of facts in which each rank is meant to have its own.
    """
    store = adapter.store()
    if store is None or dist.get_world_size() < 2:
        return compare([(rank, fact) for fact in own])
    job = _Job(store, f"all/{_again('all')}", rank, dist.get_world_size())
    try:
        last = job.say(own, frozenset(different))
        return job.receive(compare if last else None)
    except _LOST:
        return compare([(rank, fact) for fact in own])


@dataclass(frozen=True, slots=True)
class _Job:
    """One comparison of the whole job. The facts of each mesh that ranks share are said once, by who comes first."""

    store: Any
    name: str
    rank: int
    world_size: int

    def say(self, own: Sequence[Fact], different: frozenset[str]) -> bool:
        """Leave what this rank has to say. True where it is the last one."""
        alone = [fact_as_json(fact) for fact in own if fact.kind in different]
        shared: dict[str, list[Any]] = {}
        for fact in own:
            if fact.kind not in different:
                shared.setdefault(f"{fact.kind}/{_mesh(fact)}", []).append(fact_as_json(fact))
        texts = [self._share(about, json.dumps(facts)) for about, facts in shared.items()]
        self.store.set(self._own(self.rank), json.dumps([texts, alone]))
        return bool(self.store.add(f"{self.name}/said", 1) == self.world_size)

    def _share(self, about: str, text: str) -> str:
        """The key under which facts of one kind and mesh are: those of the first rank, unless this one has others."""
        own = _digest(text)
        digest, first = _first(self.store, f"{self.name}/{about}", own, self.rank)
        key = f"{self.name}/{about}/{own}"
        if first == self.rank or digest != own and self.store.add(f"{key}/count", 1) == 1:
            self.store.set(key, text)
        return key

    def receive(self, compare: Compare | None) -> str:
        """What came of it. Who has a way to compare does so, for all."""
        if compare is not None:
            self.store.set(f"{self.name}/came of it", compare(list(self._all())))
        text = _text(self.store, f"{self.name}/came of it").decode()
        if self.store.add(f"{self.name}/heard", 1) == self.world_size:
            self.store.set(f"{self.name}/all have heard", "")
        elif self.rank == 0:  # the store may be its own, and go with it
            self.store.wait([f"{self.name}/all have heard"], PATIENCE)
        return text

    def _own(self, rank: int) -> str:
        return f"{self.name}/{rank}"

    def _all(self) -> Iterable[Said]:
        texts: dict[str, list[Fact]] = {}
        for start in range(0, self.world_size, MANY):
            ranks = range(start, min(start + MANY, self.world_size))
            for rank, text in zip(ranks, self.store.multi_get([self._own(rank) for rank in ranks])):
                shared, alone = json.loads(text)
                for key in shared:
                    if key not in texts:
                        texts[key] = [fact_from_json(each) for each in json.loads(_text(self.store, key))]
                    yield from ((rank, fact) for fact in texts[key])
                yield from ((rank, fact_from_json(each)) for each in alone)


def _again(name: str) -> int:
    """The how manieth time it is that this is compared."""
    _asked[name] += 1
    return _asked[name]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
