"""Values that a collective leaves alike on all ranks: the first rehearsed rank says them, the others take them over.

A script decides by what all ranks have in common what they do next: a reduced loss, a score by the gathered weights.
With values of its own on each rank, ranks would part that never do in the job.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from ...runtime.adapter import rehearsal
from ...runtime.adapter.equal_results import EqualResults
from .place import Limits
from .shared import Shared

ROOM = 1 << 30  # bytes that are kept for the ranks to come
NO_ROOM = "collectives leave more than 1 GiB: from here on ranks do not have their results in common, as in the job"


class Agreed:
    def __init__(self, shared: Shared, limits: Limits) -> None:
        self._shared = shared
        self._limits = limits
        self._room = ROOM

    def mode(self) -> Any:
        return EqualResults(self._agree)

    def _agree(self, kind: str, group: dist.ProcessGroup, results: list[torch.Tensor]) -> None:
        # Sound: the collective is issued as in the job, and leaves one value on all ranks, as there.
        if not all(type(each) in (torch.Tensor, torch.nn.Parameter) for each in results):
            return  # without values
        turn = self._shared.turn(kind, group)
        with torch.no_grad(), rehearsal.without_fakes():
            if turn.was_left():
                _take_over(turn.left(), results)
            elif self._has_room(results):
                turn.leave([_bytes(each) for each in results])

    def _has_room(self, results: list[torch.Tensor]) -> bool:
        self._room -= sum(each.numel() * each.element_size() for each in results)
        if self._room < 0:
            self._limits.say(NO_ROOM)
        return self._room >= 0


def _bytes(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().contiguous().reshape(-1)
    return plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def _take_over(left: list[bytes], results: list[torch.Tensor]) -> None:
    """Not from ranks that have parted already, and so do other things here."""
    if [len(each) for each in left] != [each.numel() * each.element_size() for each in results]:
        return
    for data, result in zip(left, results):
        if data:
            result.copy_(torch.frombuffer(bytearray(data), dtype=result.dtype).reshape(result.shape))
