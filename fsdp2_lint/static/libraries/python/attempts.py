"""What a handler of a ``try`` knows of the tensors that were asked for what only a DTensor has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astroid import nodes

from ....vocab.declared import record
from ...domain.formulas import LARGE, Formula, both, negate
from ...domain.path_conditions import PathCondition
from ...domain.values import Computed, Obj, ParamV, StateTensor, Value, unknown
from ..interface import Machine

_OF_DTENSORS = frozenset({"full_tensor", "to_local", "redistribute"})
_PLAIN = {"AttributeError"}  # a plain tensor raises this, a DTensor never does
_ANYTHING = {"", "Exception", "BaseException"}


@record
class TypeOf:
    """What ``type()`` was asked of."""

    value: Value


def is_dtensor(leaf: Value) -> Formula:
    """The same question of a parameter and of a copy of it."""
    return (
        "truth",
        ("dtensor", replace(leaf, copied=False, grad=False, apart=False) if isinstance(leaf, ParamV) else leaf),
    )


def never_dtensor(guard: PathCondition, leaf: Value) -> bool:
    """Did the program ask on each way to this path, and go on with what is no DTensor?"""
    return guard.add(is_dtensor(leaf)) is None


def type_is_named(obj: Obj, name: object) -> Formula | None:
    """``type(parameter).__name__ == "DTensor"``: None where that is not what is asked."""
    asked = obj.atom.state(TypeOf) if obj.path == ("__name__",) else None
    if name != "DTensor" or asked is None or not isinstance(asked.value, (StateTensor, ParamV)):
        return None
    return is_dtensor(asked.value)


def note(machine: Machine, leaf: Value, name: str) -> None:
    """A method of a tensor is called: one that a plain tensor lacks is remembered for the handlers around it."""
    if name in _OF_DTENSORS and isinstance(leaf, (StateTensor, ParamV, Computed)):
        machine.libraries.asked_of_dtensors.append(leaf)


def in_handler(handler: nodes.ExceptHandler, asked: Sequence[Value]) -> Formula:
    """What holds of these tensors in this handler of the ``try`` whose body asked them."""
    caught = set(_names(handler.type))
    if not asked or not caught & (_PLAIN | _ANYTHING):
        return True
    if caught == _PLAIN:
        return both([negate(is_dtensor(leaf.of if isinstance(leaf, Computed) else leaf)) for leaf in asked])
    failed = unknown("what the handler catches", kind="opaque")  # a plain tensor, or a gathering that failed
    failed.atom.keeps = tuple(asked)
    return ("truth", (LARGE, failed))


def _names(kind: nodes.NodeNG | None) -> list[str]:
    if isinstance(kind, nodes.Tuple):
        return [name for part in kind.elts for name in _names(part)]
    return [getattr(kind, "name", getattr(kind, "attrname", "")) if kind is not None else ""]
