"""What collectives leave that is the same on all ranks of their group: the script's own, FSDP2's and DTensor's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from .operations import group_of, tensors_in

# ``(the collective, the group, the tensors that are now the same on all ranks)``
Seen = Callable[[str, dist.ProcessGroup, list[torch.Tensor]], None]

# By the operation: whether it writes what it leaves into its first argument, or returns it.
_INTO_ARGUMENT = (
    "allreduce_ allreduce_coalesced_ broadcast_ allgather_ _allgather_base_ allgather_coalesced_ "
    "allgather_into_tensor_coalesced_"
)
_RETURNED = (
    "all_reduce all_reduce_ all_reduce_coalesced all_reduce_coalesced_ broadcast broadcast_ all_gather_into_tensor "
    "all_gather_into_tensor_out all_gather_into_tensor_coalesced"
)


class EqualResults(TorchDispatchMode):
    """Calls ``seen`` after each collective that leaves the same on all ranks."""

    supports_higher_order_operators = True  # they are handed on

    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen
        self._known = dict.fromkeys(_operations("c10d", _INTO_ARGUMENT), True)
        self._known |= dict.fromkeys(_operations("_c10d_functional", _RETURNED), False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if (into := self._known.get(func)) is not None:
            self._seen(func._schema.name, group_of(func, args), tensors_in([args[0] if into else result]))
        return result


def _operations(space: str, names: str) -> list[Any]:
    found = getattr(torch.ops, space)
    return [getattr(found, name).default for name in names.split() if hasattr(found, name)]
