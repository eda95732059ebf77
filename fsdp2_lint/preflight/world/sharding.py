"""Parameters are cut for this rank alone: the work does not grow with the number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...runtime.adapter import rehearsal
from .replacing import instead


class Parts:
    """The parts of a tensor as ``torch.chunk`` makes them, each when it is asked for; empty where nothing is left."""

    def __init__(self, tensor: torch.Tensor, number: int, dim: int) -> None:
        self._tensor = tensor
        self._number = number
        self._dim = dim
        self._size = -(-tensor.size(dim) // number)

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, index: int) -> torch.Tensor:
        if not 0 <= index < self._number:
            raise IndexError(index)
        start = index * self._size
        left = self._tensor.size(self._dim) - start
        if left <= 0:
            return self._tensor.new_empty(0)
        return self._tensor.narrow(self._dim, start, min(self._size, left))


def cut_for_one_rank() -> None:
    def parts(original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound: the same views of the same memory; FSDP2 takes the first, for its size, and that of this rank.
        def chunk(tensor: torch.Tensor, num_chunks: int, dim: int) -> Any:
            return Parts(tensor, num_chunks, dim)

        return chunk

    instead([rehearsal.cut_of_parameters()], parts)
