"""Flags of the project: members are bits, which programs put together and ask for one by one."""

from __future__ import annotations

import operator
from typing import Any

from astroid import nodes

from ...domain.formulas import Formula, both, either, negate
from ...domain.values import ClassV, Const, Ext, Obj, Text, Value, unknown
from ...frontend.origins import full_name
from ..machine import AnyMachine
from ..syntax import class_body
from .enums import made_by

_FLAGS = frozenset({"enum.Flag", "enum.IntFlag"})
_OPERATORS: dict[str, Any] = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift}
_OWN = frozenset(
    {"__new__", "__init__", "_missing_", "_generate_next_value_", "__bool__", "__contains__", "__eq__", "__or__"}
) | {"__and__", "__xor__", "__invert__"}


class Bits(int):
    """Members of a class of flags that are put together; of ``enum.Flag`` they are equal to no number."""

    cls: ClassV
    number: bool

    def __eq__(self, other: object) -> bool:
        return int.__eq__(self, other) is True and (self.number or isinstance(other, Bits))

    __hash__ = int.__hash__

    def __and__(self, other: int) -> Bits:
        return self._like(int.__and__(self, other))

    def __or__(self, other: int) -> Bits:
        return self._like(int.__or__(self, other))

    def _like(self, value: int) -> Bits:
        return made_of(self.cls, value, number=self.number)


def made_of(cls: ClassV, value: int, *, number: bool) -> Bits:
    made = Bits(value)
    made.cls, made.number = cls, number
    return made


def is_flags(machine: AnyMachine, cls: object) -> bool:
    """Is it a class of flags whose members are put together as ``enum`` does it?"""
    return made_by(machine, cls, _FLAGS, _OWN)


def members(machine: AnyMachine, cls: ClassV) -> dict[str, int]:
    """The bits of each member by name; without those whose value is not known."""
    found: dict[str, int] = {}
    for name, node in class_body(cls.node).items():
        if isinstance(node, nodes.Assign) and (value := _value(machine, cls, node.value, found)) is not None:
            found[name] = value
    return found


def _value(machine: AnyMachine, cls: ClassV, node: nodes.NodeNG, so_far: dict[str, int]) -> int | None:
    """What a class body says a member is: a number, the next bit, or what is put together of those before it."""
    if isinstance(node, nodes.Call) and full_name(node.func) == "enum.auto":
        return 1 << max(so_far.values(), default=0).bit_length()
    if isinstance(node, nodes.Name) and node.name in so_far:
        return so_far[node.name]
    if isinstance(node, nodes.BinOp) and node.op in _OPERATORS:
        left, right = _value(machine, cls, node.left, so_far), _value(machine, cls, node.right, so_far)
        return None if left is None or right is None else int(_OPERATORS[node.op](left, right))
    found = machine.class_default(cls, node)
    return found.value if isinstance(found, Const) and isinstance(found.value, int) else None


def of_class(machine: AnyMachine, cls: ClassV, name: str) -> Value | None:
    """``Kind.MEMBER``; None for what else the class has."""
    found = members(machine, cls).get(name)
    return _constant(machine, cls, found) if found is not None else None


def _constant(machine: AnyMachine, cls: ClassV, value: int) -> Const:
    return Const(made_of(cls, value, number=Ext("enum.IntFlag") in machine.mro(cls)))


def by_value(machine: AnyMachine, cls: ClassV, value: Value) -> Value:
    """``Kind(number)`` has the bits of the number, whichever it is."""

    def one(leaf: Value) -> Value:
        if isinstance(leaf, Const):
            return _constant(machine, cls, leaf.value) if isinstance(leaf.value, int) else _some(machine, cls)
        return leaf if isinstance(leaf, Obj) else _some(machine, cls)

    return machine.over(value, one)


def by_name(machine: AnyMachine, cls: ClassV, name: Value) -> Value:
    """``Kind[name]``"""
    known = members(machine, cls).get(name.value) if isinstance(name, Const) else None
    return _constant(machine, cls, known) if known is not None else _some(machine, cls)


def _some(machine: AnyMachine, cls: ClassV) -> Obj:
    made = unknown(f"a member of {cls.name}")
    made.atom.number = True
    machine.types[made] = cls
    return made


def of_member(value: Const, name: str) -> Value | None:
    """``.value`` and ``.name`` of bits; None for what else their class has."""
    if not isinstance(value.value, Bits):
        return None
    return Const(int(value.value)) if name in ("value", "_value_") else Text(False) if name == "name" else None


# -- one bit of an unknown number -----------------------------------------------------------


def masked(value: Value) -> tuple[Obj, int] | None:
    """The unknown and the bits of ``unknown & bits``."""
    item = value.item if isinstance(value, Obj) else None
    if not (
        isinstance(item, tuple) and item[:2] == ("op", "&") and isinstance(value, Obj) and value.parent is not None
    ):
        return None
    bits = item[2].value
    return (value.parent, int(bits)) if isinstance(bits, int) and bits > 0 else None


def any_set(number: Obj, bits: int) -> Formula:
    return either(_each_set(number, bits))


def all_set(number: Obj, bits: int) -> Formula:
    return both(_each_set(number, bits))


def _each_set(number: Obj, bits: int) -> list[Formula]:
    each = [1 << place for place in range(bits.bit_length()) if bits >> place & 1]
    return [("truth", number.child(("op", "&", Const(bit)))) for bit in each]


def masked_equals(value: Value, constant: object) -> Formula | None:
    """``unknown & bits == constant``, where that asks for all of the bits or for none of them."""
    found = masked(value)
    if found is None or not isinstance(constant, int) or int(constant) not in (0, found[1]):
        return None
    return all_set(*found) if constant else negate(any_set(*found))
