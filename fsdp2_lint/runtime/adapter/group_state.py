"""What a group of FSDP2 was planned to do, and where it stands now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from . import places
from .groups import Group, Param
from .meshes import ranks_of
from .modules import local


# -- what ``fully_shard`` planned for a group: when it is resharded, and what its parameters are called besides
def reshards(group: Group, state: Any, is_root: bool) -> bool | int:
    """After forward: yes, no, or over how many ranks it is cut then.

    Before its first forward nobody has told the root yet that it keeps its parameters, unless it was said what it does.
    """
    if is_root and places.IS_ROOT.read(state) is None and getattr(state, "_auto_reshard_after_forward", True):
        return False
    if group.stays_gathered:
        return False
    if not getattr(group.raw, "_use_post_forward_mesh", False):
        return True
    return int(group.raw.post_forward_mesh_info.shard_mesh_size)


def replicas(group: Group) -> int:
    """How many ranks hold the same shards: 1 where nothing is replicated."""
    info = places.MESH_INFO.read(group.raw)
    dimension = places.REPLICA_DIM.read(info)
    return 1 if dimension is None else int(places.MESH.read(info).size(dimension))


def placements(param: Param) -> tuple[str, ...]:
    return tuple(str(each) for each in places.SPEC.read(param.raw).placements)


def registered(param: Param) -> Iterator[tuple[nn.Module, str]]:
    """Where it stands: its module and its name there, and those of the weights that are tied to it."""
    info = places.OF_MODULE.read(param.raw)
    yield info.module, info.param_name
    yield from zip(info.shared_modules, info.shared_param_names)


def gathers_its_own_way(param: Param) -> bool:
    """Does its tensor say itself what is gathered, as those of float8 do?"""
    return hasattr(local(param.sharded), "fsdp_pre_all_gather")


# -- in which part of a training step a group stands
def in_forward(group: Group) -> bool:
    return _phase(group) == "FORWARD"


def before_backward(group: Group) -> bool:
    """Is it gathered again, since gradients have come to it?"""
    return _phase(group) == "PRE_BACKWARD"


def _phase(group: Group) -> str:
    return str(places.PHASE.read(group.raw).name)


# -- by what the gradients of a group are divided
@dataclass(frozen=True, slots=True)
class Division:
    """``factor``: the number that a group was given, None where it divides by that of its ranks."""

    factor: float | None
    ranks: int

    @property
    def by(self) -> float:
        return self.ranks if self.factor is None else self.factor

    def fits(self, other: Division) -> bool:
        """Do both divide by one number, or both average over their ranks, be they many or few?"""
        return self.by == other.by or self.by / self.ranks == other.by / other.ranks


def division(group: Group) -> Division:
    factor = places.FACTOR.read(group.raw)
    return Division(None if factor is None else float(factor), len(ranks_of(group.mesh)))


# -- gradients that FSDP2 holds outside ``p.grad``, where no optimizer, no clipping and no ``zero_grad`` reaches them
def holds_gradients(group: Group) -> bool:
    """Between two backwards: does the group keep gradients that were not reduced over all of its ranks?"""
    return any(param.has_gradient for param in group.params) or places.OF_REPLICA.read(group.raw) is not None


def reduces_over_replicas(group: Group) -> bool:
    """Would a backward bring the gradients of all replicas together? Of one replica there is nothing to do."""
    return not group.replicated or bool(places.REDUCES_REPLICAS.read(group.raw))


def backward_is_open(state: Any) -> bool:
    """Has a backward run that finalize_backward() is to finish? A torch that has no word for it finishes each."""
    return _of_context(state, "manual_backward_finalization_active") is True


def reduction_is_awaited(state: Any) -> bool:
    """Was it begun with ``finalize_backward(async_op=True)``, and its handle has not waited yet?"""
    return _of_context(state, "gradient_reduction_pending") is True


def _of_context(state: Any, name: str) -> Any:
    return getattr(places.CONTEXT.read(state), name, None) if places.CONTEXT.is_in(state) else None
