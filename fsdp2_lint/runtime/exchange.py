"""Facts of all ranks at once, through the store that the job has anyway: no collective, no device."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from ..report.codec import fact_as_json, fact_from_json
from ..vocab.facts import Fact, Facts, ranges
from . import adapter

PATIENCE = timedelta(seconds=10)
_asked: Counter[str] = Counter()


def exchange(fact: Fact, rank: int) -> Facts | None:
    """The facts of all ranks that ought to agree, or None if some do not say anything in time.

    Ranks are about to wait for each other in a collective; here they wait no longer than that,
    and not at all for ranks that are not concerned.
    """
    store = adapter.store()
    if store is None:
        return None
    # With the ranks in it: of two meshes, one rank may be in both and another in one only.
    name = f"{fact.kind}/{fact.key}/{ranges(fact.ranks)}"
    _asked[name] += 1
    keys = {other: f"{name}/{_asked[name]}/{other}" for other in fact.ranks}
    said = _exchange(store, keys, rank, json.dumps(fact_as_json(fact)))
    return None if said is None else {other: fact_from_json(json.loads(text)) for other, text in said.items()}


def exchange_all(own: Sequence[Fact], rank: int) -> list[tuple[int, Fact]]:
    """Everything that the ranks of the job have said, or only what this one has if the others do not answer."""
    mine = [(rank, fact) for fact in own]
    store = adapter.store()
    if store is None or dist.get_world_size() < 2:
        return mine
    _asked[""] += 1
    keys = {other: f"all/{_asked['']}/{other}" for other in range(dist.get_world_size())}
    said = _exchange(store, keys, rank, json.dumps([fact_as_json(fact) for fact in own]))
    if said is None:
        return mine
    return [(other, fact_from_json(each)) for other, text in said.items() for each in json.loads(text)]


def _exchange(store: Any, keys: Mapping[int, str], rank: int, own: str) -> dict[int, bytes] | None:
    """What stands under each rank's key, once all have set theirs. The store may be gone, with its rank."""
    try:
        store.set(keys[rank], own)
        store.wait(list(keys.values()), PATIENCE)
        return {other: store.get(key) for other, key in keys.items()}
    except (RuntimeError, OSError):  # torch's timeouts and lost connections are runtime errors
        return None
