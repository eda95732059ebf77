"""Sets, and what is made of them: their order is not that in which they were filled."""

from __future__ import annotations

from typing import TypeVar

from ...domain.store import ALL_KEYS, KNOWN_KEYS
from ...domain.values import DictV, ListV, Obj, Value
from ..machine import AnyMachine

V = TypeVar("V", ListV, DictV)
_OF_SETS = frozenset({"-", "&", "^", "|"})  # of a list, or of what keys() returns, these make a set
NEW_SETS = frozenset({"union", "difference", "intersection", "symmetric_difference"})


def made_set(machine: AnyMachine, made: V) -> V:
    machine.unordered[made] = (made,)
    return made


def made_of(machine: AnyMachine, made: V, *sources: Value) -> V:
    """In the order of its sources: if one of them has none, neither has this, whatever it holds itself."""
    leaves = [leaf for source in sources for _, leaf in machine.alternatives(source) if has_none(machine, leaf)]
    if leaves:
        machine.unordered[made] = tuple(part for leaf in leaves for part in machine.unordered[leaf])
    return made


def view(machine: AnyMachine, made: ListV, of: DictV) -> ListV:
    """What a dict holds, in the order in which it was filled."""
    if keys := unknown_keys(machine, of):
        machine.filled_under[made] = keys
    return made_of(machine, made, of)


def unknown_keys(machine: AnyMachine, leaf: Value) -> tuple[Value, ...]:
    """Under which keys, that were not written out, a dict was filled, or the one of which this is a view."""
    if not isinstance(leaf, DictV):
        return machine.filled_under.get(leaf, ())
    keys = (key for key, _, _ in machine.entries(leaf).entries)
    return tuple(dict.fromkeys(key for key in keys if key != ALL_KEYS and not isinstance(key, KNOWN_KEYS)))


def has_none(machine: AnyMachine, value: Value) -> bool:
    return isinstance(value, (ListV, DictV, Obj)) and value in machine.unordered


def combined(machine: AnyMachine, op: str, left: Value, right: Value, made: Obj) -> None:
    """What an operator, or a method, makes of two sets holds what they hold."""
    sides = [side for side in (left, right) if isinstance(side, (ListV, Obj))]
    if (op in _OF_SETS or op in NEW_SETS) and any(isinstance(side, ListV) or has_none(machine, side) for side in sides):
        machine.unordered[made] = tuple(part for side in sides for part in machine.unordered.get(side, (side,)))


def held(machine: AnyMachine, value: Value) -> list[Value] | None:
    """What a set may hold, as far as that is known; None for what has an order, as a set of one element has."""
    if not has_none(machine, value):
        return None
    sources = machine.unordered[value]
    parts = [machine.listing(source) for source in sources if isinstance(source, (ListV, DictV))]
    if len(sources) == len(parts) == 1 and parts[0].exact and not parts[0].open_why and len(parts[0].items) < 2:
        return None
    return [item for part in parts for _, item in part.items]
