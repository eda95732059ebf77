"""Small values that ranks agree on by a collective: the first rehearsed rank says them, the others take them over.

A script decides by such a value what all ranks do next. With a value of its own on each rank, ranks would part that
never do in the job.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from ...runtime.adapter import rehearsal
from ...runtime.sites import called_by_torch
from .replacing import arguments, instead
from .shared import Shared

# Elements: what a script reads on the host to decide by is small, and larger ones would be copied for nothing.
SMALL = 4096
# What each leaves on all ranks alike, by the name of its parameter.
RESULTS = {
    "all_reduce": "tensor",
    "broadcast": "tensor",
    "all_gather": "tensor_list",
    "all_gather_into_tensor": "output_tensor",
}


class Agreed:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def by(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        # Sound: the collective is issued as in the job, and leaves one value on all ranks, as there.
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def collective(*args: Any, **kwargs: Any) -> Any:
                work = original(*args, **kwargs)
                if not called_by_torch(sys._getframe()):
                    given = arguments(original, args, kwargs)
                    result = given[RESULTS[name]]
                    self._agree(name, given.get("group"), result if isinstance(result, list) else [result])
                return work

            return collective

        return make

    def gathered(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # Sound, as above.
        def full_tensor(tensor: DTensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            result: torch.Tensor = original(tensor, *args, **kwargs)
            if tensor.device_mesh.ndim == 1 and not called_by_torch(sys._getframe()):
                self._agree("full_tensor", tensor.device_mesh.get_group(), [result])
            return result

        return full_tensor

    def _agree(self, kind: str, group: Any, results: list[Any]) -> None:
        if dist.get_rank(group) < 0 or not all(_is_small(each) for each in results):
            return
        turn = self.shared.turn(kind, group)
        own = [(str(each.dtype), list(each.shape), each.tolist()) for each in results]
        if not turn.was_left():
            turn.leave(own)
        elif [each[:2] for each in turn.left()] == [each[:2] for each in own]:  # else ranks have parted already
            with torch.no_grad():
                for result, (_, shape, values) in zip(results, turn.left(), strict=True):
                    result.copy_(torch.tensor(values, dtype=result.dtype).reshape(shape))


def _is_small(result: Any) -> bool:
    return type(result) in (torch.Tensor, torch.nn.Parameter) and result.numel() <= SMALL


def take_over(agreed: Agreed) -> None:
    for name in RESULTS:
        instead(rehearsal.spots_of_groups(name), agreed.by(name))
    instead([(DTensor, "full_tensor")], agreed.gathered)
