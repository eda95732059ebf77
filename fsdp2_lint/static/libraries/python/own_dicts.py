"""``vars(self).update(values)``: attributes of an object that are set through its ``__dict__``."""

from __future__ import annotations

from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import NONE, Const, DictV, Obj, Value
from ...interpreter.call import Call
from ..interface import Machine

Named = tuple[PathCondition, str, Value]


def updated(machine: Machine, obj: Obj, name: str, call: Call) -> Value | None:
    """Sets each attribute that it names; None where it is another method, or may set others."""
    if obj.item != "__dict__" or obj.parent is None or name != "update" or call.open_why:
        return None
    given = [(TRUE, key, value) for key, value in call.kwargs.items()]
    for argument in call.args:
        for path, leaf in machine.alternatives(argument):
            if (held := _named(machine, leaf)) is None:
                return None
            given += [(joined, key, value) for at, key, value in held if (joined := path.join(at)) is not None]
    for path, key, value in given:
        machine.assign_attr(obj.parent, key, value, call.node, path)
    return NONE


def _named(machine: Machine, leaf: Value) -> list[Named] | None:
    """What a dict holds by name; None where it may hold more."""
    held = machine.entries(leaf) if isinstance(leaf, DictV) else None
    if held is None or held.open_why:
        return None
    found = [(path, key.value, value) for key, path, value in held.entries if isinstance(key, Const)]
    named = len(found) == len(held.entries) and all(isinstance(name, str) for _, name, _ in found)
    return found if named else None
