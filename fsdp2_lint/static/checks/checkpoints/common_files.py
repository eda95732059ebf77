"""By what the path of a file is named, beside what is written in the source."""

from __future__ import annotations

from ...domain.values import Const, Obj, Text, Value, is_call
from ...libraries.interface import Machine


def named_by(machine: Machine, path: Value) -> frozenset[Value]:
    """Settings and arguments of unseen callers, of which a path is made."""
    stack, found, seen = [path], set[Value](), set[Value]()
    while stack:
        for leaf in machine.inside(stack.pop()):
            if leaf in seen or isinstance(leaf, Const):
                continue
            seen.add(leaf)
            if isinstance(leaf, Text) and leaf.of:
                stack += machine.text_parts[leaf.of - 1][1]
            elif isinstance(leaf, Obj) and (calls := [at for at in leaf.above if is_call(at.item)]):
                outermost = calls[-1]
                stack += [outermost.parent] if outermost.parent is not None else []
                stack += [each for call in calls for each in _given(call)]
            elif isinstance(leaf, Obj) and leaf.atom.operands:
                stack += leaf.atom.operands
            else:
                found.add(leaf)
    return frozenset(found)


def _given(call: Obj) -> list[Value]:
    """The arguments of a call, where they are kept with what it returned."""
    given = call.item[2] if isinstance(call.item, tuple) and len(call.item) > 2 else ()
    return [*given] if isinstance(given, tuple) else []
