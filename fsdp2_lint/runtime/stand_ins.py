"""Tensors by the parameter behind them: views of a shard, gathered copies, and what was put in its place."""

from __future__ import annotations

import torch

from ..vocab.finding import Moment
from . import adapter
from .ledger import Ledger, Sharding


def shard_behind(ledger: Ledger, tensor: torch.Tensor) -> tuple[Sharding, adapter.Param] | None:
    """The parameter over whose shard a tensor lies: itself, a view of it, or its local part."""
    place = adapter.memory_of(tensor)
    if place is None:
        return None
    for sharding in ledger.shardings:
        for param in sharding.params():
            if adapter.memory_of(param.sharded) == place:
                return sharding, param
    return None


def copy_behind(ledger: Ledger, tensor: torch.Tensor) -> Sharding | None:
    """The sharding of which a tensor is a gathered parameter, while it is gathered."""
    found = ledger.managed(ledger.shardings).get(id(tensor))
    if found is None or not any(tensor is each for each in found[1].copies):
        return None
    return found[0] if any(group.holds_a_copy for group in found[0].groups()) else None


def set_at(ledger: Ledger, param: adapter.Param) -> Moment | None:
    """Where what is in the place of a parameter now was put there, after sharding."""
    now = param.current
    return next((each.when for each in ledger.attached if each.owner() is param.module and each.value is now), None)
