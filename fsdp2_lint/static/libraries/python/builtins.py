"""Built-in functions and the methods of lists, dicts and strings."""

from __future__ import annotations

from dataclasses import replace

from astroid import nodes

from ...budget import BUDGET
from ...domain.choices import choose
from ...domain.formulas import LARGE, Formula, both, either, negate
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.store import Items
from ...domain.values import (
    BELOW,
    BELOW_ANYHOW,
    NONE,
    Ext,
    GuardedUnion,
    ListV,
    Obj,
    Params,
    Partial,
    TupleV,
    Value,
    unknown,
)
from ...interpreter.call import Call
from ...interpreter.expressions import domains, orders, own_values, owning
from ...interpreter.expressions.numbers import number_made_of
from ..computed import computed
from ..interface import Machine
from ..tables import external
from ..torch.ranks import data
from ..torch.training import dtensors, generators
from . import calculation
from .value_methods import in_order

_SETS = ("builtins.set", "builtins.frozenset")


@external(
    "builtins.list",
    "builtins.tuple",
    "builtins.set",
    "builtins.sorted",
    "builtins.frozenset",
    "builtins.iter",
    "collections.deque",
    "torch.utils.data.ChainDataset",
)
def make_list(machine: Machine, call: Call) -> Value:
    """What holds the elements of something that is iterated over, at once or later."""
    if not call.args:
        return orders.made_set(machine, machine.new_list([])) if call.name in _SETS else machine.new_list([])

    ordered = call.name != "builtins.sorted"

    def one(leaf: Value) -> Value:
        if call.name == "builtins.iter":
            data.read(machine, leaf, call.node)
        else:
            generators.consumed(machine, leaf, call.node, f"{call.name.rsplit('.', 1)[-1]}()")
        held = machine.iterated(leaf, call.node)
        if call.name in _SETS:
            return orders.made_set(machine, machine.listed(held))
        if orders.has_none(machine, leaf) and ordered:
            return orders.made_of(machine, machine.listed(held), leaf)
        if call.name == "builtins.tuple" and held.exact and all(path is TRUE for path, _ in held.items):
            return TupleV(tuple(item for _, item in held.items))
        return machine.listed(held if ordered else in_order(machine, held, call))

    return machine.over(call.args[0], one)


@external("builtins.reversed")
def make_reversed(machine: Machine, call: Call) -> Value:
    """In reverse where the order is known, else in one that is not."""
    held = machine.iterated(call.args[0], call.node) if call.args else Items()

    def turned(item: Value) -> Value:
        if isinstance(item, Obj) and item.item == BELOW and item.parent is not None:
            return item.parent.child(BELOW_ANYHOW)
        return TupleV(tuple(turned(part) for part in item.items)) if isinstance(item, TupleV) else item

    made = machine.listed(replace(held, items=tuple((path, turned(item)) for path, item in reversed(held.items))))
    return orders.made_of(machine, made, *call.args)


@external("builtins.zip")
def make_zip(machine: Machine, call: Call) -> Value:
    """Rows as long as the shortest, or the longest where one of them is open."""
    lists = [machine.iterated(value, call.node) for value in call.args]
    for value in call.args:
        data.read(machine, value, call.node)
        generators.consumed(machine, value, call.node, "zip()", whole=False)
    exact = all(held.exact for held in lists)
    length = (
        min((len(held.items) for held in lists), default=0)
        if exact
        else max((len(held.items) for held in lists), default=0)
    )
    rows: list[tuple[PathCondition, Value]] = []
    for position in range(length):
        picked = [held.items[min(position, len(held.items) - 1)] for held in lists if held.items]
        there: PathCondition | None = TRUE
        for path, _ in picked:
            there = there.join(path) if there is not None else None
        each = iter(value for _, value in picked)
        row = TupleV(tuple(next(each) if held.items else unknown("an element") for held in lists))
        if there is not None:
            rows.append((there, row))
    why = next((held.open_why for held in lists if held.open_why), "")
    made = machine.listed(Items(tuple(rows), exact and all(path is TRUE for path, _ in rows), why), lazy=True)
    generators.expression_made(machine, made, call.node)
    return made


@external("itertools.pairwise")
def make_pairs(machine: Machine, call: Call) -> Value:
    """Neighbours: each element with the next one."""
    held = machine.iterated(call.args[0] if call.args else NONE, call.node)
    items = [item for _, item in held.items]
    after = items[1:] if held.exact else [*items[1:], *items[-1:]]  # the last stands for any number of them
    rows: list[Value] = [TupleV(pair) for pair in zip(items, after)]
    return machine.new_list(rows, exact=held.exact, open_why=held.open_why)


@external("itertools.chain", "itertools.chain.from_iterable")
def chain(machine: Machine, call: Call) -> Value:
    made = machine.new_list([])
    parts = call.args
    if call.name.endswith("from_iterable") and call.args:
        parts = [item for _, item in machine.iterated(call.args[0], call.node).items]
    for part in parts:
        machine.extend(made, part)
    return made


@external("builtins.map", "builtins.filter")
def apply_each(machine: Machine, call: Call) -> Value:
    """``map`` and ``filter`` run the function for each element that is known."""
    is_filter = call.name == "builtins.filter"
    if len(call.args) < 2:
        return unknown("map()")
    if is_filter and isinstance(call.args[1], (Params, GuardedUnion)):
        return call.args[1]
    held = machine.iterated(call.args[1], call.node)
    results = []
    for path, item in held.items:
        if is_filter:
            results.append((path, item))
        else:
            results.append((path, machine.call(call.args[0], Call(call.node, [item]))))
    return machine.listed(replace(held, items=tuple(results)), lazy=True)


@external("builtins.next", "builtins.sum", "builtins.max", "builtins.min")
def pick(machine: Machine, call: Call) -> Value:
    """One value out of several: that itself where it can be told, else a number that was made of all of them."""
    if call.name == "builtins.next" and call.args:
        held = machine.iterated(call.args[0], call.node)
        if len(call.args) > 1 and isinstance(call.args[0], Params):
            return first(machine, perhaps_none(held, call.args[0]), call.args[1])
        if held.items and len(held.items) <= BUDGET.options and not (held.open_why and len(held.items) > 1):
            return first(machine, held, call.arg(1, "default"))
    common = dtensors.same(machine, call.args[0]) if len(call.args) == 1 else None
    if common is not None and call.name.endswith(common.how):
        return common
    if call.name == "builtins.sum" and len(call.args) == 2:
        return machine.over(call.args[0], lambda leaf: flatten(machine, leaf))
    if call.name == "builtins.sum" and (flags := _flags(machine, call.args[0])) is not None:
        return flags
    known = calculation.calculated(machine, call)
    if known is not None:
        return known
    made = number_made_of(machine, call.name, *call.all)
    computed(machine, made, call.name, call.all)
    return made


def _flags(machine: Machine, value: Value) -> Value | None:
    """How many settings of a list are switched on; None for a list of anything else."""
    held = machine.listing(value) if isinstance(value, (TupleV, ListV)) else Items()
    whole = held.exact and not held.open_why and all(path is TRUE for path, _ in held.items)
    given = [item for _, item in held.items]
    if not whole or not given or not all(domains.is_flag(machine, item) for item in given):
        return None
    return domains.counted([machine.truth(item) for item in given])


def has_parameters(asked: Params | None) -> Formula:
    """A module may have no parameters, or none of its own."""
    return True if asked is None else ("truth", ("has parameters", asked.model, asked.part))


def perhaps_none(held: Items, parameters: Params) -> Items:
    """Who gives a default asks whether there are any."""
    some = TRUE.add(has_parameters(parameters)) or TRUE
    return Items(tuple((path.join(some) or path, item) for path, item in held.items), held.exact, held.open_why)


def first(machine: Machine, held: Items, default: Value | None) -> Value:
    """The first that is there, on the path on which it is and none before it; else the default."""
    found: list[tuple[PathCondition, Value]] = []
    left: PathCondition | None = TRUE
    for path, item in held.items:
        taken = left.join(path) if left is not None else None
        found += [(taken, machine.some_of(item))] if taken is not None else []
        left = left.add(path.formula, False) if left is not None else None
    if left is not None and default is not None:
        found.append((left, default))
    return choose(found)


def flatten(machine: Machine, leaf: Value) -> Value:
    made = machine.new_list([])
    for _, item in machine.listing(leaf).items:
        machine.extend(made, item)
    return made


@external("builtins.any", "builtins.all")
def any_all(machine: Machine, call: Call) -> Value:
    name = call.name.rpartition(".")[2]
    return machine.over(call.args[0] if call.args else NONE, lambda leaf: _quantified(machine, leaf, name, call.node))


def _quantified(machine: Machine, value: Value, name: str, node: nodes.NodeNG) -> Value:
    """Of each thing in a list that is known; else open."""
    if isinstance(value, (TupleV, ListV)):
        held = machine.listing(value)
        if not held.open_why and len(held.items) <= BUDGET.quantified:
            for _, item in held.items:
                machine.libraries.tested(item, node)
            parts = [machine.truth(item) for _, item in held.items]
            some = has_parameters(machine.of_parameters.get(value))
            said = both([some, either(parts)]) if name == "any" else either([negate(some), both(parts)])
            return machine.cond(said)
    if (own := own_values.own_of(machine, value)) is not None:
        made = unknown(name)
        owning.began(machine, made.atom, own)
        return made
    if machine.loops:  # most likely about what the loop visits: which elements pass is open
        return machine.cond(("truth", (LARGE, name, machine.fresh())))
    return unknown(name)


@external("functools.partial")
def partial(machine: Machine, call: Call) -> Value:
    if not call.args:
        return unknown("partial()")
    return Partial(call.args[0], tuple(call.args[1:]), tuple(call.kwargs.items()))


@external("functools.wraps", "functools.update_wrapper", "builtins.property", "builtins.staticmethod")
def keep_function(machine: Machine, call: Call) -> Value:
    if call.name == "functools.wraps":
        return Ext("builtins.staticmethod")
    return call.args[0] if call.args else unknown(call.name)
