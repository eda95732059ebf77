"""Device meshes and their slices: the dimensions, as far as the source writes them down."""

from __future__ import annotations

import ast
from typing import Any

from .....vocab.declared import record
from ....domain.values import NONE, Const, GuardedUnion, ListV, Obj, TupleV, Value
from ....interpreter.call import Call
from ...interface import Machine


@record
class Mesh:
    """``sizes``: None for a number that is not written down. ``names``: None where they are not known."""

    sizes: tuple[int | None, ...]
    names: tuple[str, ...] | None


def written(machine: Machine, call: Call) -> Mesh | None:
    """What a call of ``init_device_mesh`` or ``DeviceMesh`` says of the dimensions."""
    if call.name.endswith(".DeviceMesh"):
        sizes = _shape_of_ranks(machine, call.arg(1, "mesh"))
    else:
        sizes = _numbers(machine, call.arg(1, "mesh_shape"))
    given = call.arg(None, "mesh_dim_names")
    if sizes is None or given is None and call.open_why:
        return None
    if given is None or given == NONE:
        return Mesh(sizes, ())
    names = _exact(machine, given)
    told = tuple(name.value for name in names or () if isinstance(name, Const) and isinstance(name.value, str))
    return Mesh(sizes, told if len(told) == len(sizes) else None)


def _exact(machine: Machine, value: Value | None) -> tuple[Value, ...] | None:
    """The items of a tuple or list of known length."""
    if isinstance(value, TupleV):
        return value.items
    if isinstance(value, ListV):
        held = machine.items(value)
        certain = held.exact and not held.open_why and all(not path.literals for path, _ in held.items)
        return tuple(item for _, item in held.items) if certain else None
    return None


def _numbers(machine: Machine, value: Value | None) -> tuple[int | None, ...] | None:
    items = _exact(machine, value)
    return None if items is None else tuple(map(_number, items))


def _number(value: Value) -> int | None:
    known = isinstance(value, Const) and type(value.value) is int and value.value > 0
    return value.value if known and isinstance(value, Const) else None


def _shape_of_ranks(machine: Machine, value: Value | None) -> tuple[int | None, ...] | None:
    """Of ranks that are written out as nested lists."""
    rows = _exact(machine, value)
    if not rows:
        return None
    inner = {_shape_of_ranks(machine, row) for row in rows}
    return (len(rows), *(inner.pop() or ())) if len(inner) == 1 else None


def dimensions(value: Value) -> Mesh | None:
    """Of a mesh, or of what was sliced from one."""
    if not isinstance(value, Obj):
        return None
    mesh = value.atom.state(Mesh)
    for item in value.path:
        mesh = _sliced(mesh, item) if mesh is not None else None
    return mesh


def attribute(obj: Obj, name: str) -> Value | None:
    """``mesh.mesh_dim_names`` and ``mesh.ndim``, where the source writes the dimensions."""
    mesh = dimensions(obj) if name in ("mesh_dim_names", "ndim") else None
    if mesh is None or mesh.names is None:
        return None
    if name == "ndim":
        return Const(len(mesh.sizes))
    return TupleV(tuple(map(Const, mesh.names))) if mesh.names else NONE


def _sliced(mesh: Mesh, item: Any) -> Mesh | None:
    if isinstance(item, tuple) and item[:2] == ("()", "_flatten"):
        names = [name.value for name in item[2] if isinstance(name, Const)] if isinstance(item[2], tuple) else []
        return Mesh((None,), (names[0],) if names else None)
    wanted = wanted_names(item)
    if not wanted or mesh.names is None:
        return None
    if all(name in mesh.names for name in wanted):
        return Mesh(tuple(mesh.sizes[mesh.names.index(name)] for name in wanted), wanted)
    return Mesh((None,), wanted) if len(wanted) == 1 else None  # a flattened dimension has a name of its own


def wanted_names(item: Any) -> tuple[str, ...]:
    """The names in ``['dp']`` or ``[('a', 'b')]``, as a step of a path."""
    if not isinstance(item, str) or not item.startswith(("['", "[('", '["')):
        return ()
    read = ast.literal_eval(item[1:-1])
    return (read,) if isinstance(read, str) else tuple(read)


def several_names(machine: Machine, key: Value) -> Const | None:
    """The names in ``mesh["a", "b"]`` and ``mesh[tuple(names)]``, as one constant."""
    items = _exact(machine, key)
    names = tuple(item.value for item in items or () if isinstance(item, Const) and isinstance(item.value, str))
    return Const(names if len(names) > 1 else names[0]) if names and items and len(names) == len(items) else None


def possible(value: Value | None, path: Any) -> list[Value]:
    """The options of a value on the paths that ``path`` allows."""
    if isinstance(value, GuardedUnion):
        return [leaf for guard, leaf in value.options if path.compatible(guard)]
    return [] if value is None else [value]
