"""DTensors and this rank's part of them: ``DTensor.from_local``, and what ``to_local()`` gives."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import torch

from ....vocab.facts import Fact
from ....vocab.finding import Site
from ... import adapter
from ...agreement.digests import digest
from ...ledger import Ledger
from ...session import Session
from ...sites import called_by_torch, here

MAX_CALLS = 64  # of one place


def install(session: Session) -> None:
    if session.compares("local-shard"):
        watch = _Watch(session)
        session.watch((adapter.DTensor, "from_local"), rare=True, before=watch.wrapped)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.calls: Counter[Site] = Counter()

    def wrapped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if called_by_torch(sys._getframe()):
            return
        given = dict(zip(("local_tensor", "device_mesh", "placements"), args)) | kwargs
        mesh, placements = given.get("device_mesh"), list(given.get("placements") or ())
        if (
            given.get("shape") is not None
            or mesh is None
            or mesh.ndim != 1
            or not any(each.is_shard() for each in placements)
        ):
            return
        when = here()
        self.calls[when.at] += 1
        if self.calls[when.at] > MAX_CALLS:
            return
        shape, dimension = list(given["local_tensor"].shape), placements[0].dim
        rows = shape.pop(dimension)
        values = {"rows": str(rows), "other dimensions": str(shape)}
        key = f"{when.at}, call {self.calls[when.at]}"
        traits = {"dimension": str(dimension)}
        self.session.state(Fact("local-shard", key, when, adapter.ranks_of(mesh), values, traits=traits))


# -- plain tensors that are this rank's part of a parameter: what ``to_local()`` gives, and copies of it
SMALL = 16  # elements: what is smaller may be equal by chance


class LocalParts:
    """``tensor in parts``: is it a part, by its memory, or a copy of one, bit by bit?"""

    def __init__(self, ledger: Ledger) -> None:
        self._by_memory: set[int | None] = set()
        self._by_shape: dict[tuple[torch.Size, torch.dtype], list[torch.Tensor]] = {}
        for sharding in ledger.shardings:
            for param in sharding.params():
                part = adapter.local(param.sharded)
                if 0 < part.numel() < param.numel:
                    self._by_memory.add(adapter.memory_of(part))
                    self._by_shape.setdefault((part.shape, part.dtype), []).append(part)
        self._by_memory.discard(None)

    def __contains__(self, tensor: torch.Tensor) -> bool:
        alike = self._by_shape.get((tensor.shape, tensor.dtype), [])
        return adapter.memory_of(tensor) in self._by_memory or (bool(alike) and _equals_one(tensor, alike))


def _equals_one(tensor: torch.Tensor, parts: list[torch.Tensor]) -> bool:
    if tensor.numel() < SMALL or bool((tensor == tensor.reshape(-1)[0]).all()):
        return False
    own = digest(tensor)
    return any(digest(part) == own for part in parts)
