"""Numbers that are not calculated: what makes them, and who says them."""

from __future__ import annotations

from collections.abc import Iterable

from astroid import nodes

from ....vocab.declared import record
from ...domain.says import Says
from ...domain.values import SLICE, SOME, Const, Ext, GuardedUnion, ListV, Obj, TupleV, Value, is_call, unknown
from ..machine import AnyMachine
from . import owning


@record
class Numbers:
    """What a short ``range`` counts, where the source says all of it."""

    numbers: tuple[int, ...]


@record
class Last:
    """Of the number of a round: in the last round of that loop it is ``of``, and so many ``more``."""

    of: Value
    more: int
    loop: nodes.NodeNG


def is_number(obj: Obj) -> bool:
    """Does a calculation that was not followed make it, so that it is no module?"""
    return obj.atom.number or obj.item == "len()" or is_multiple(obj.item)


def is_multiple(item: object) -> bool:
    """Is this the part of a path that an operator with a constant adds?"""
    return isinstance(item, tuple) and item[0] == "op"


def is_calculated(obj: Obj) -> bool:
    """Did an operator make it, or is it a slice of such? Then it is no module, and new: a number, a tensor, a list."""
    made = obj
    while made.parent is not None and made.item == SLICE:
        made = made.parent
    return is_multiple(made.item) or made.atom.number and made.parent is None


def said_by(machine: AnyMachine, value: Value) -> Says:
    """Who says a number: the source, what was not read, or a setting or a caller who was not seen."""
    if isinstance(value, Obj):
        return _object_said_by(machine, value)
    if isinstance(value, (GuardedUnion, TupleV, ListV)):
        leaves = machine.alternatives(value) if isinstance(value, GuardedUnion) else machine.listing(value).items
        return said_by_all(machine, (leaf for _, leaf in leaves))
    return Says.SOURCE if isinstance(value, Const) else Says.UNREAD if isinstance(value, Ext) else Says.OUTSIDE


def _object_said_by(machine: AnyMachine, value: Obj) -> Says:
    if value.atom.said_by is not None:
        return max(value.atom.said_by, Says.SOURCE, *(_asked(machine, item) for item in value.path))
    inside = is_number(value) or value.atom.origin == "range"
    if inside and value.parent is not None:
        return said_by(machine, value.parent)
    if value.parent is not None and isinstance(some := machine.store.get((value.parent, SOME)), Obj):
        return said_by(machine, some)
    return Says.SOURCE if inside else Says.OUTSIDE


def _asked(machine: AnyMachine, item: object) -> Says:
    """Who says what a step of a path leads to: of a call, its arguments; unknown are those that are only counted."""
    if not is_call(item):
        return Says.SOURCE
    return said_by_all(machine, item[2]) if isinstance(item[2], tuple) else Says.OUTSIDE


def said_by_all(machine: AnyMachine, values: Iterable[Value]) -> Says:
    """Who says what is made of all of these."""
    return max((said_by(machine, value) for value in values), default=Says.SOURCE)


def number_made_of(machine: AnyMachine, origin: str, *parts: Value) -> Obj:
    """A number that is not calculated here, and who says it."""
    made = some_number(origin, said_by_all(machine, parts))
    owning.passed_on(machine, made, parts)
    return made


def some_number(origin: str, says: Says = Says.SOURCE) -> Obj:
    made = unknown(origin)
    made.atom.number, made.atom.said_by = True, says
    return made
