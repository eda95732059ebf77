"""Numbers that are not calculated: what makes them, and whether they hang on anything outside of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...domain.values import Choice, Const, ListV, Obj, TupleV, Value, unknown
from ..machine import AnyMachine

if TYPE_CHECKING:
    from ..machine import AnyMachine


def is_number(obj: Obj) -> bool:
    """Does a calculation that was not followed make it, so that it is no module?"""
    return obj.atom.number or obj.item == "len()" or is_multiple(obj.item)


def is_multiple(item: object) -> bool:
    """Is this the part of a path that an operator with a constant adds?"""
    return isinstance(item, tuple) and item[0] == "op"


def from_outside(machine: AnyMachine, value: Value) -> bool:
    """May a number be chosen outside of the source, by a setting or a caller that was not seen, and be anything?"""
    if isinstance(value, Obj):
        if value.atom.from_outside is not None:
            return value.atom.from_outside
        inside = is_number(value) or value.atom.origin == "range"
        return from_outside(machine, value.parent) if inside and value.parent is not None else not inside
    if isinstance(value, (Choice, TupleV, ListV)):
        leaves = machine.alternatives(value) if isinstance(value, Choice) else machine.listing(value).items
        return any(from_outside(machine, leaf) for _, leaf in leaves)
    return not isinstance(value, Const)


def number_made_of(machine: AnyMachine, origin: str, *parts: Value) -> Obj:
    """A number that is not calculated here, and whether it hangs on anything outside of the source."""
    return some_number(origin, outside=any(from_outside(machine, part) for part in parts))


def some_number(origin: str, *, outside: bool = False) -> Obj:
    made = unknown(origin)
    made.atom.number, made.atom.from_outside = True, outside
    return made
