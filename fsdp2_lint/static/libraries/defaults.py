"""What a setting is where nobody says otherwise."""

from __future__ import annotations

from astroid import nodes

from ..domain.values import Const, Obj, Value
from ..interpreter.syntax import class_body
from .interface import Machine


def default_of(machine: Machine, asked: object) -> Value | None:
    """Of an option of the command line, or of a field of a class of the project; None where that is not written."""
    if not isinstance(asked, Obj):
        return None
    if (given := machine.libraries.default_of(asked)) is not None:
        return given
    for cls in machine.project_classes(asked.parent) if asked.parent is not None else ():
        field = class_body(cls.node).get(str(asked.item))
        if isinstance(field, nodes.AnnAssign) and isinstance(field.value, nodes.Const):
            return Const(field.value.value)
    return None
