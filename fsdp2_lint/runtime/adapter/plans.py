"""What ``fully_shard`` planned for a group: when it is resharded, and what its parameters are called besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from . import places
from .groups import Group, Param
from .modules import local


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
