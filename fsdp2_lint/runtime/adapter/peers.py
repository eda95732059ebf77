"""The ranks that share one parameter among themselves: one replica of an HSDP mesh."""

from __future__ import annotations

from . import places
from .groups import Group


def ranks_of_replica(group: Group) -> tuple[int, ...]:
    """The ranks along the dimension that shards, among them this one; none where the group has no such dimension."""
    dimension = places.SHARD_DIM.read(places.MESH_INFO.read(group.raw))
    coordinate = group.mesh.get_coordinate()
    if dimension is None or coordinate is None:
        return ()
    own = tuple(slice(None) if at == dimension else place for at, place in enumerate(coordinate))
    return tuple(int(rank) for rank in group.mesh.mesh[own].tolist())
