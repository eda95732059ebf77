"""Where memory is taken: the results of operations, storages that grow and shrink, and what FSDP2 takes it for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .operations import tensors_in
from .probe import ParamGroup, place
from .rehearsal import spots_of_groups

STORAGE = (torch.UntypedStorage, "resize_")  # by which FSDP2 frees gathered parameters: no operation of torch's


class Allocations(TorchDispatchMode):
    """Calls ``given`` with what goes into each operation and ``made`` with what comes out of it.

    Operations of DTensors and of other subclasses are seen where they come down to those of plain tensors.
    """

    def __init__(self, given: Callable[[torch.Tensor], None], made: Callable[[torch.Tensor], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._given, self._made = given, made

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(each.__name__ not in ("FakeTensor", "Tensor") for each in types):
            return NotImplemented
        kwargs = kwargs or {}
        for tensor in tensors_in([*args, *kwargs.values()]):
            self._given(tensor)
        result = func(*args, **kwargs)
        for tensor in tensors_in(result):
            self._made(tensor)
        return result


def gathering() -> Iterator[tuple[Any, str]]:
    """The functions in which memory is taken for gathered parameters, or for their cut over fewer ranks."""
    for hook in ("gather", "gathering"):
        if (found := place(hook)) is not None:
            yield found
    if hasattr(ParamGroup, "reshard"):
        yield ParamGroup, "reshard"


def propagating() -> Iterator[tuple[Any, str]]:
    """Where DTensor asks for the shape of a result, with tensors of the whole size that never are."""
    owner = getattr(sys.modules.get("torch.distributed.tensor._sharding_prop"), "ShardingPropagator", None)
    name = "_propagate_tensor_meta_non_cached"
    if hasattr(owner, name):
        yield owner, name


def exchanging_objects() -> Iterator[tuple[Any, str]]:
    """What sends pickled objects, for which it takes tensors for a moment."""
    for name in ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"):
        yield from spots_of_groups(name)


def backward_is_running() -> bool:
    """Is this called from inside a backward, in whatever part of it?"""
    return bool(torch._C._current_graph_task_id() != -1)
