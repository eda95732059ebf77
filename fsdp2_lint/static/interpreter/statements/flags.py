"""Flags: attributes and variables that hold a constant, which conditions ask later."""

from __future__ import annotations

from typing import Any

from ...domain.choices import options
from ...domain.formulas import both, is_fork, negate
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Entries, Items
from ...domain.values import Const, Obj, Value
from ..machine import AnyMachine


def set_behind(machine: AnyMachine, mark: int, born: int, path: PathCondition) -> None:
    """Flags set since ``mark``, on ``path`` behind an early way out, are as before where that was taken."""
    asked = both([part if truth else negate(part) for part, truth in path.literals if not is_fork(part)])
    went_on, left = TRUE.add(asked), TRUE.add(asked, False)
    if not path.literals or went_on is None or left is None or asked is True:
        return
    written = machine.store.undo(mark, machine.frame.id)
    flags = {key: held for key, held in written.items() if _is_flag(key, held, machine.frame.id)}
    for key, held in written.items():
        if key not in flags:
            machine.store.put(key, held, local=isinstance(key, tuple) and isinstance(key[0], int))
    machine.store.join([(went_on, flags), (left, {})], lambda key: machine.derive(key, born))


def _is_flag(key: Any, held: Value | Items | Entries, frame: int) -> bool:
    """Is it an attribute, or a variable of this activation, that holds a constant, or perhaps what it held before?"""
    if not isinstance(key, tuple) or isinstance(held, (Items, Entries)):
        return False
    lasts = isinstance(key[0], Obj) or key[0] == frame
    before = key[0].child(key[1]) if isinstance(key[0], Obj) else None
    leaves = [leaf for _, leaf in options(held)]
    return lasts and leaves != [before] and all(isinstance(leaf, Const) or leaf is before for leaf in leaves)
