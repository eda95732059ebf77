"""Numbers of rounds: ``range``, ``enumerate`` and ``len``."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from astroid import nodes

from ....vocab.declared import record
from ...budget import BUDGET
from ...domain.path_conditions import TRUE
from ...domain.store import Items
from ...domain.values import EACH, NONE, SOME, AbstractObject, Const, DictV, ListV, Obj, TupleV, Value
from ...interpreter.call import Call
from ...interpreter.expressions import domains, orders, own_values, owning
from ...interpreter.expressions.domains import added_where
from ...interpreter.expressions.numbers import Last, Numbers, some_number
from ..interface import Machine
from ..tables import external
from ..torch.ranks import data

_LONGEST = 1_000_000  # rounds of a loop that anybody counts


@external("builtins.range")
def make_range(machine: Machine, call: Call) -> Value:
    """``range(n)`` visits each index; with other bounds, or one that is written out, only some."""
    first = Const(0) if len(call.args) == 1 else call.args[0] if len(call.args) == 2 else None
    whole = first == Const(0) and not isinstance(call.args[-1], Const)
    index = AbstractObject("unknown", origin=own_values.RANGE).root
    index.atom.rounds = _most_rounds(machine, call.args)
    bounds = [each.value for each in call.args if isinstance(each, Const)]
    if len(bounds) == len(call.args) and index.atom.rounds in range(1, BUDGET.counted_out + 1):
        index.atom.know(Numbers((*range(*bounds),)))
    if len(call.args) in (1, 2) and (loop := _loop_over(call)) is not None:
        index.atom.know(Last(call.args[-1], -1, loop))
    owning.passed_on(machine, index, call.args)
    index.atom.per_rank = any(map(owning.of_rank, call.args))
    return machine.new_list([index.child(EACH if whole else SOME)], exact=False)


def _loop_over(call: Call) -> nodes.NodeNG | None:
    """The loop that goes through what a call makes: ``for i in range(n)``."""
    loop = call.node.parent
    return loop if isinstance(loop, nodes.For) and loop.iter is call.node else None


def _most_rounds(machine: Machine, args: list[Value]) -> int | None:
    """How many numbers are in a range, at most where a table says its bounds; None where the source does not."""
    options = [[leaf for _, leaf in machine.alternatives(arg)] for arg in args]
    if not options or math.prod(map(len, options)) > BUDGET.options:
        return None
    rounds = [_length_of_range(bounds) for bounds in itertools.product(*options)]
    return None if None in rounds else max(filter(None, rounds), default=0)


def _length_of_range(args: tuple[Value, ...]) -> int | None:
    bounds = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
    counted = len(bounds) == len(args) and bounds[2:] != [0] and max(map(abs, bounds)) < _LONGEST
    return len(range(*bounds)) if counted else None


@record
class Enumerated:
    """A number of what a loop goes through: how far it comes, the length of that says."""


@external("builtins.enumerate")
def make_enumerate(machine: Machine, call: Call) -> Value:
    held = machine.iterated(call.args[0], call.node) if call.args else Items()
    for value in call.args[:1]:
        data.read(machine, value, call.node)
    index = AbstractObject("unknown", origin=own_values.RANGE).root.child(EACH)
    index.atom.know(Enumerated())
    start = call.arg(1, "start") or Const(0)
    begins = start.value if isinstance(start, Const) and isinstance(start.value, int) else None
    if begins is not None and call.args and (loop := _loop_over(call)) is not None:
        index.atom.know(Last(machine.over(call.args[0], lambda leaf: _length(machine, leaf)), begins - 1, loop))
    first = begins if held.exact else None
    items = tuple(
        (path, TupleV((Const(first + position) if first is not None else index, item)))
        for position, (path, item) in enumerate(held.items)
    )
    return orders.made_of(machine, machine.listed(replace(held, items=items)), *call.args[:1])


@external("builtins.len")
def length(machine: Machine, call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    return machine.over(value, lambda leaf: _length(machine, leaf))


def _length(machine: Machine, value: Value) -> Value:
    """Of a list that is known, a constant; of one that was filled on one path alone, one or the other."""
    if isinstance(value, Obj):
        return value.child("len()")
    held = machine.listing(value) if isinstance(value, (TupleV, ListV)) else Items((), False, "it is no list")
    if (held.exact or not held.items) and not held.open_why and all(path is TRUE for path, _ in held.items):
        return Const(len(held.items))
    if added_where(held) is not None and (number := domains.counted([path.formula for path, _ in held.items])):
        return number
    if (known := machine.lengths.get(value)) is not None and known[0] is held:
        return known[1]
    some = some_number("len()")
    machine.lengths[value] = held, some
    if isinstance(value, (ListV, DictV)) and (own := own_values.size_of(machine, value)) is not None:
        owning.began(machine, some.atom, own)
    some.atom.positive = any(
        path is TRUE and isinstance(item, Obj) and item.atom.module is True for path, item in held.items
    )
    return some
