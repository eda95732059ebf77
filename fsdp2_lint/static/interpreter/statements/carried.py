"""Numbers that are counted: what each may be in any round."""

from __future__ import annotations

from ...domain.choices import options
from ...domain.values import Cond, Obj, Value
from ..machine import AnyMachine


def carry(machine: AnyMachine, before: Value | None, value: Value, begun: Value) -> None:
    """What a number may be in any round is told by what it began with, what it is set to, and whether that is done.

    ``begun`` stands for it in place of the ``value`` that it begins with.
    """
    for leaf in (leaf for _, leaf in options(before)) if before is not None else ():
        if isinstance(leaf, Obj) and leaf in machine.carried:
            machine.carried[leaf] = (*machine.carried[leaf], value, Cond(machine.guard.formula))
    if begun is not value and isinstance(begun, Obj) and not begun.atom.counter:
        machine.carried[begun] = (value,)
