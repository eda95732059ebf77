"""Plain tensors that are this rank's part of a parameter: what ``to_local()`` gives, and copies of it."""

from __future__ import annotations

import torch

from ... import adapter
from ...agreement.digests import digest
from ...ledger import Ledger

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
