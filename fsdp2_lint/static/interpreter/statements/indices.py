"""Loops over the numbers of a short list: ``for i in range(2): fully_shard(stages[i])``, round by round.

One round stands for all that a ``range`` counts, and which element an index names is open in it. Where the elements are
known, and are as many as the rounds, each of them has its own.
"""

from __future__ import annotations

from astroid import nodes

from ...domain.path_conditions import TRUE
from ...domain.store import Items
from ...domain.values import Const, GuardedUnion, ListV, Obj, TupleV, Value
from ..expressions.numbers import Numbers
from ..machine import AnyMachine


def counted_out(machine: AnyMachine, loop: nodes.For, iterable: Value) -> Value:
    """The numbers that a loop goes through, where it takes each element of a list by them; else what it was."""
    numbers = _numbers(machine, iterable)
    if not numbers or not isinstance(loop.target, nodes.AssignName):
        return iterable
    for each in loop.nodes_of_class(nodes.Subscript):
        if isinstance(each.slice, nodes.Name) and each.slice.name == loop.target.name:
            held = _held(machine, each.value)
            if held is not None and held.exact and not held.open_why and len(held.items) == len(numbers):
                return machine.listed(Items(tuple((TRUE, Const(number)) for number in numbers)))
    return iterable


def _numbers(machine: AnyMachine, iterable: Value) -> tuple[int, ...]:
    """0, 1, 2 and so on: what a short ``range`` counts."""
    held = machine.items(iterable).items if isinstance(iterable, ListV) else ()
    index = held[0][1] if len(held) == 1 else None
    counted = index.atom.state(Numbers) if isinstance(index, Obj) and index.parent is index.atom.root else None
    found = counted.numbers if counted is not None else ()
    return found if found == (*range(len(found)),) and len(found) > 1 else ()


def _held(machine: AnyMachine, base: nodes.NodeNG) -> Items | None:
    """What is in a list that has a name, or is kept under one: looked up alone, so that nothing runs for it."""
    value: Value | None = None
    if isinstance(base, nodes.Name) and (machine.frame.id, base.name) in machine.store.state:
        value = machine.store.get((machine.frame.id, base.name))
    elif isinstance(base, nodes.Attribute) and isinstance(base.expr, nodes.Name):
        owner = machine.store.get((machine.frame.id, base.expr.name))
        value = machine.store.get((owner, base.attrname)) if isinstance(owner, Obj) else None
    if value is None or isinstance(value, GuardedUnion) or not isinstance(value, (ListV, TupleV, Obj)):
        return None
    return machine.listing(value)
