"""Meshes of devices: their ranks, their names, and what they were sliced from."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from torch.distributed.device_mesh import DeviceMesh

from . import places

Mesh = Any  # of torch.distributed, whatever it is called there
_ranks: weakref.WeakKeyDictionary[Any, tuple[int, ...]] = weakref.WeakKeyDictionary()


def ranks_of(mesh: Any) -> tuple[int, ...]:
    """The ranks of a mesh. It makes a tensor of them whenever it is asked, so it is asked once."""
    if mesh not in _ranks:
        _ranks[mesh] = tuple(int(rank) for rank in mesh.mesh.flatten().tolist())
    return _ranks[mesh]


def ranks_along(mesh: Any, dimension: int) -> tuple[int, ...]:
    """The ranks along one dimension of a mesh, among them this one; none where it is not in the mesh."""
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return ()
    own = tuple(slice(None) if at == dimension else place for at, place in enumerate(coordinate))
    return tuple(int(rank) for rank in mesh.mesh[own].tolist())


def names_of(mesh: Any) -> tuple[str, ...]:
    """The names of a mesh's dimensions; none where it has no names."""
    return tuple(getattr(mesh, "mesh_dim_names", None) or ())


def whole_of(mesh: Any) -> Any:
    """The mesh that this one was sliced from; itself where it was not."""
    if hasattr(mesh, "_get_root_mesh"):
        return mesh._get_root_mesh()
    if (keeper := _keeper_of_meshes()) is None:
        raise places.Missing(ROOT_MESH)
    return keeper.get_root_mesh(mesh)


ROOT_MESH = places.Place("DeviceMesh", ("_get_root_mesh",), ("FSDP308",))


def _keeper_of_meshes() -> Any | None:
    """What knew the root of each mesh before the meshes did."""
    keeper = getattr(sys.modules.get("torch.distributed.device_mesh"), "_mesh_resources", None)
    return keeper if hasattr(keeper, "get_root_mesh") else None


def without_root_mesh() -> list[places.Place]:
    return [] if hasattr(DeviceMesh, "_get_root_mesh") or _keeper_of_meshes() else [ROOT_MESH]
