"""The ranks that share one parameter among themselves, and those that hold the same part of it beside its replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import places
from .groups import Group, Param
from .meshes import names_of, ranks_along, ranks_of, whole_of


# -- the ranks that share one parameter among themselves: one replica of an HSDP mesh
def ranks_of_replica(group: Group) -> tuple[int, ...]:
    """The ranks along the dimension that shards, among them this one; none where the group has no such dimension."""
    dimension = places.SHARD_DIM.read(places.MESH_INFO.read(group.raw))
    return ranks_along(group.mesh, dimension) if dimension is not None else ()


def dimensions_beside(groups: Iterable[Group]) -> frozenset[str]:
    """The dimensions of meshes, such as "tp", over which parameters were distributed before they were sharded."""
    return frozenset(
        name for group in groups for param in group.params for name in _beside(group, places.SPEC.read(param.raw).mesh)
    )


def copies_beside(group: Group, param: Param, dimensions: frozenset[str]) -> tuple[int, ...]:
    """The ranks with the same part of a parameter along such dimensions; empty where that is this rank alone."""
    spec = places.SPEC.read(param.raw)
    if _beside(group, spec.mesh):
        mesh, placed = spec.mesh, spec.placements
        own = _beside(group, mesh)
        kept = [at for at, name in enumerate(names_of(mesh)) if name in own and placed[at].is_replicate()]
    else:
        mesh = whole_of(group.mesh)
        kept = [at for at, name in enumerate(names_of(mesh)) if name in dimensions]
    here = mesh.get_coordinate()
    if not kept or here is None:
        return ()
    ranks = mesh.mesh[tuple(slice(None) if at in kept else place for at, place in enumerate(here))].flatten().tolist()
    shared = set(ranks_of(group.mesh)).intersection(ranks)  # those put the parameter together: each has its own part
    return tuple(sorted(map(int, ranks))) if len(ranks) > 1 and len(shared) == 1 else ()


def is_distributed_beside(group: Group, param: Param) -> bool:
    return bool(_beside(group, places.SPEC.read(param.raw).mesh))


def _beside(group: Group, mesh: Any) -> set[str]:
    own = names_of(group.mesh)
    return set(names_of(mesh)) - set(own) if own else set()
