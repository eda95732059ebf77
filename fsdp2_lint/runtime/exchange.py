"""Facts of all ranks at once, through the store that the job has anyway: no collective, no device."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist

from ..report.codec import fact_as_json, fact_from_json
from ..vocab.facts import Fact, Facts
from . import adapter

PATIENCE = timedelta(seconds=10)
_asked: Counter[str] = Counter()


def exchange(fact: Fact, rank: int) -> Facts | None:
    """The facts of all ranks that ought to agree, or None if some do not say anything in time.

    Ranks are about to wait for each other in a collective; here they wait no longer than that,
    and not at all for ranks that are not concerned.
    """
    store = adapter.store()
    if store is None or len(fact.ranks) < 2:
        return None
    name = f"{fact.kind}/{fact.key}"
    _asked[name] += 1
    keys = {other: f"{name}/{_asked[name]}/{other}" for other in fact.ranks}
    store.set(keys[rank], json.dumps(fact_as_json(fact)))
    try:
        store.wait(list(keys.values()), PATIENCE)
    except RuntimeError:  # torch's timeouts are runtime errors
        return None
    return {other: fact_from_json(json.loads(store.get(key))) for other, key in keys.items()}


def exchange_all(own: Sequence[Fact], rank: int) -> list[tuple[int, Fact]]:
    """Everything that the ranks of the job have said, or only what this one has if the others do not answer."""
    mine = [(rank, fact) for fact in own]
    store = adapter.store()
    if store is None or dist.get_world_size() < 2:
        return mine
    _asked[""] += 1
    keys = {other: f"all/{_asked['']}/{other}" for other in range(dist.get_world_size())}
    store.set(keys[rank], json.dumps([fact_as_json(fact) for fact in own]))
    try:
        store.wait(list(keys.values()), PATIENCE)
    except RuntimeError:
        return mine
    return [(other, fact_from_json(each)) for other, key in keys.items() for each in json.loads(store.get(key))]
