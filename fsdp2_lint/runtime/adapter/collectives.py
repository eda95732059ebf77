"""Where collectives are issued: the methods of process groups, the functional collectives, and FSDP2's own calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from .rehearsed import is_tried_out

# Methods of a process group: what they are called, and the argument whose size all ranks must agree on.
_METHODS: dict[str, tuple[str, int | None]] = {
    "allreduce": ("all_reduce", 0),
    "allreduce_coalesced": ("all_reduce", None),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "allgather": ("all_gather", None),
    "allgather_coalesced": ("all_gather", None),
    "allgather_into_tensor_coalesced": ("all_gather", None),
    "all_gather_single_coalesced": ("all_gather", None),
    "_allgather_base": ("all_gather", 1),
    "all_gather_single": ("all_gather", 1),
    "gather": ("gather", None),
    "scatter": ("scatter", None),
    "reduce_scatter": ("reduce_scatter", None),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", None),
    "reduce_scatter_single_coalesced": ("reduce_scatter", None),
    "_reduce_scatter_base": ("reduce_scatter", 1),
    "reduce_scatter_single": ("reduce_scatter", 1),
    "alltoall": ("all_to_all", None),
    "alltoall_base": ("all_to_all", None),
    "all_to_all_single": ("all_to_all", None),
    "barrier": ("barrier", None),
}
_IN_LISTS = ("allreduce", "broadcast", "reduce")
# Functional collectives, which DTensor uses: they reach the group below Python. Each takes the tensor first.
_FUNCTIONS = {
    "all_reduce": "all_reduce",
    "all_gather_single": "all_gather",
    "all_gather_tensor": "all_gather",
    "reduce_scatter_single": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
}
_FUNCTIONAL: Any = sys.modules.get("torch.distributed._functional_collectives")


# One collective that this rank is about to join: its group, its kind, and the number and dtype of the elements, or
# (-1, None) where ranks may differ in them. A plain tuple, since one is made for each collective of a job.
Issue = tuple[str, str, int, "torch.dtype | None"]
Reader = Callable[[tuple[Any, ...], dict[str, Any]], "Issue | None"]


class Issuer(NamedTuple):
    """A function that issues a collective, and what reads from a call of it which one that is.

    ``kind`` and ``position`` are of methods of a group: its first argument is the group, that at ``position`` is sent,
    or the first of those in the list there.
    """

    owner: Any
    name: str
    read: Reader
    kind: str = ""
    position: int = 0
    in_list: bool = False


def collectives() -> Iterator[Issuer]:
    """Every function that issues a collective."""
    for name, (kind, position) in _METHODS.items():
        if hasattr(dist.ProcessGroup, name):
            after = 0 if position is None else position + 1
            yield Issuer(dist.ProcessGroup, name, _method(kind, position), kind, after, name in _IN_LISTS)
    for name, kind in _FUNCTIONS.items():
        if hasattr(_FUNCTIONAL, name):
            yield Issuer(_FUNCTIONAL, name, _function(kind))


def messages() -> Iterator[tuple[Any, str]]:
    """Every function that sends to one other rank, or receives from it, as gloo's monitored barrier does inside."""
    for name in ("send", "recv", "recv_anysource", "monitored_barrier"):
        if hasattr(dist.ProcessGroup, name):
            yield dist.ProcessGroup, name


def exchanges() -> Iterator[tuple[Any, str]]:
    """Every function by which each rank gives each other rank a part of a tensor."""
    for owner, names in (
        (dist.ProcessGroup, ("alltoall", "alltoall_base", "all_to_all_single")),
        (_FUNCTIONAL, ("all_to_all_single", "all_to_all_single_autograd")),
    ):
        yield from ((owner, name) for name in names if hasattr(owner, name))


def _method(kind: str, position: int | None) -> Reader:
    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Issue | None:
        tensor = None if position is None or len(args) <= position + 1 else args[position + 1]
        if not isinstance(tensor, torch.Tensor):
            tensor = tensor[0] if isinstance(tensor, (list, tuple)) and tensor else None
            if not isinstance(tensor, torch.Tensor):
                return args[0].group_name, kind, -1, None
        return args[0].group_name, kind, tensor.numel(), tensor.dtype

    return read


def _function(kind: str) -> Reader:
    # Which of these arguments names the group is a matter of the function, and of the version.
    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Issue | None:
        tensor = args[0] if args else kwargs.get("self")
        if not isinstance(tensor, torch.Tensor) or is_tried_out(tensor):
            return None
        group = kwargs.get("group")
        for given in () if group is not None else args[1:]:
            if isinstance(given, (dist.ProcessGroup, DeviceMesh)) or _mesh_and_dimension(given):
                group = given
        name = _name_of(group)
        if name is None or kind == "all_to_all":
            return None if name is None else (name, kind, -1, None)
        return name, kind, tensor.numel(), tensor.dtype

    return read


def _mesh_and_dimension(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], DeviceMesh)


def _name_of(group: Any) -> str | None:
    if isinstance(group, str):
        return group
    if _mesh_and_dimension(group):
        group = group[0].get_group(group[1])
    elif isinstance(group, DeviceMesh):
        group = group.get_group()
    return str(group.group_name) if isinstance(group, dist.ProcessGroup) else None


def size_of(issue: Issue) -> str:
    """In words; empty where ranks may differ in it."""
    _, _, numel, dtype = issue
    return f"{numel} numbers of {dtype}" if dtype is not None else ""


# Does the compiler look at what is called, and nothing is issued? Asked for each collective, so it is torch's own.
is_traced = torch.compiler.is_compiling
is_followed = torch.compiler.is_dynamo_compiling  # only by the compiler that reads bytecode: it costs half as much
_DYNAMO: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def calls_compiled() -> bool:
    """Is this part of a call of compiled code? There one rank may go past Python where another one does not.

    A torch that cannot tell is asked in vain: then nothing is left out.
    """
    asked = getattr(_DYNAMO, "get_eval_frame_callback", None)
    return asked is not None and asked() is not None


def ranks_of_group(name: str) -> tuple[int, ...]:
    """The ranks of the group of that name; empty where it cannot be found."""
    return next((ranks for own, ranks, _ in _groups() if own == name), ())


def issued() -> dict[str, tuple[tuple[int, ...], int]]:
    """How many collectives this rank has issued in each group, by the group's own count."""
    found = {}
    for name, ranks, group in _groups():
        try:
            found[name] = ranks, int(group._get_sequence_number_for_group())
        except (AttributeError, RuntimeError):  # some backends keep no count
            continue
    return found


def _groups() -> Iterator[tuple[str, tuple[int, ...], Any]]:
    world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
    if world is None or not dist.is_initialized():
        return
    for group, ranks in list(world.pg_group_ranks.items()):
        if not isinstance(group, dist.ProcessGroup):
            continue  # the stand-in for groups that this rank is no member of
        yield str(group.group_name), _members(str(group.group_name), ranks), group


_known: dict[str, tuple[Any, tuple[int, ...]]] = {}


def _members(name: str, ranks: Any) -> tuple[int, ...]:
    """The ranks of a group in their order. Asked once a second, and there may be thousands: they are sorted once."""
    known = _known.get(name)
    if known is None or known[0] is not ranks:  # a later group may have the name of one that is gone
        known = _known[name] = (ranks, tuple(sorted(ranks)))
    return known[1]
