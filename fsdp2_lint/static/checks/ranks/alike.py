"""Values that are the same on all ranks: written out, said by settings, or counted by all of them."""

from __future__ import annotations

from ...domain.values import Obj, Text, Value
from ...interpreter.expressions.numbers import is_multiple
from ...interpreter.expressions.own_values import own_of
from ..shared.program import Program


def same_on_all_ranks(program: Program, value: Value) -> bool:
    """False also where that is not known."""
    return all(_same(program, leaf) for _, leaf in program.machine.alternatives(value))


def _same(program: Program, leaf: Value) -> bool:
    machine = program.machine
    if machine.per_rank(leaf) is False:
        return True
    if isinstance(leaf, Text) and leaf.of and not leaf.per_rank:
        return all(same_on_all_ranks(program, part) for part in machine.text_parts[leaf.of - 1][1])
    if (
        not isinstance(leaf, Obj)
        or own_of(machine, leaf) is not None
        or not all(map(is_multiple, leaf.path[_first(leaf) :]))
    ):
        return False
    atom = leaf.atom
    if atom.counter:
        return atom.counter not in machine.counted_apart
    if atom.operands:
        return not atom.per_rank and all(same_on_all_ranks(program, part) for part in atom.operands)
    return atom.origin == "range"


def _first(obj: Obj) -> int:
    """How much of its path is the round of a loop over numbers."""
    return 1 if obj.atom.origin == "range" else 0
