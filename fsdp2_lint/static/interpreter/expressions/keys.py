"""Keys of dicts: which entries they may name, where not all of a key is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from ...domain.choices import choose
from ...domain.path_conditions import TRUE
from ...domain.store import KNOWN_KEYS, Entries
from ...domain.values import BELOW, BELOW_ANYHOW, Cond, Const, Obj, TupleV, Value


def by_one_part(held: Entries, key: TupleV) -> tuple[Entries, Value]:
    """A key of several parts, of which one is not known: the entries that agree in all others, by that one."""
    rows = [row for row in held.entries if not _differ(row[0], key)]
    asked = [at for at, part in enumerate(key.items) if not isinstance(part, KNOWN_KEYS)] or [len(key.items) - 1]
    at = asked[0]
    by_part = [(name.items[at], path, value) for name, path, value in rows if _is_known(name)]
    if len(asked) > 1 or len(by_part) < len(rows):
        return replace(held, entries=tuple(rows)), key
    return replace(held, entries=tuple(by_part)), key.items[at]


def _differ(name: Value, key: TupleV) -> bool:
    """Is the key of an entry surely another one?"""
    if not isinstance(name, TupleV):
        return isinstance(name, KNOWN_KEYS)
    return len(name.items) != len(key.items) or any(
        isinstance(mine, KNOWN_KEYS) and isinstance(other, KNOWN_KEYS) and mine != other
        for mine, other in zip(name.items, key.items)
    )


def _is_known(key: Value) -> TypeGuard[TupleV]:
    return isinstance(key, TupleV) and all(isinstance(part, KNOWN_KEYS) for part in key.items)


def spelled_out(key: Value) -> Value:
    """``table[world > 1]``: a condition as the constant that it is, each on its path."""
    if not isinstance(key, Cond):
        return key
    sides = [(TRUE.add(key.formula, truth), Const(truth)) for truth in (False, True)]
    return choose([(path, side) for path, side in sides if path is not None])


def in_any_order(value: Value) -> Value:
    """What names choose comes in the order of the names, not in that in which it was put under them."""
    if isinstance(value, Obj) and value.item == BELOW and value.parent is not None:
        return value.parent.child(BELOW_ANYHOW)
    return value
