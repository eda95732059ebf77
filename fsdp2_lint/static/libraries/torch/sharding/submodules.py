"""Modules by their names: ``get_submodule`` and ``set_submodule``."""

from __future__ import annotations

from collections.abc import Iterable

from ....domain.values import BELOW_ANYHOW, NONE, Const, Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...python.reflection import set_attribute
from ...tables import method


@method("get_submodule")
def get_submodule(machine: Machine, obj: Obj, call: Call) -> Value:
    parts = _parts(call.arg(0, "target"))
    return obj.child(BELOW_ANYHOW) if parts is None else _below(machine, obj, parts, call)


@method("set_submodule")
def set_submodule(machine: Machine, obj: Obj, call: Call) -> Value:
    """The module that holds the named one gets another one in its place (torch 2.5)."""
    parts, module = _parts(call.arg(0, "target")), call.arg(1, "module")
    if module is None:
        return NONE
    if parts:
        *above, name = parts
        owner: Value = _below(machine, obj, above, call)
        set_attribute(machine, Call(call.node, [owner, Const(name), module]))
    else:  # one of them, whichever has that name
        name_unknown = call.arg(0, "target") or NONE
        set_attribute(machine, Call(call.node, [obj.child(BELOW_ANYHOW), name_unknown, module]))
    return NONE


def _parts(name: Value | None) -> list[str] | None:
    """Of a dotted name, which is "" for the module itself; None where it is not known."""
    known = isinstance(name, Const) and isinstance(name.value, str)
    return [part for part in name.value.split(".") if part] if isinstance(name, Const) and known else None


def _below(machine: Machine, obj: Obj, parts: Iterable[str], call: Call) -> Value:
    value: Value = obj
    for part in parts:
        value = (
            machine.libraries.item_of(value, Const(int(part)), call.node)
            if part.isdigit() and isinstance(value, Obj)
            else machine.get_attr(value, part, call.node)
        )
    return value
