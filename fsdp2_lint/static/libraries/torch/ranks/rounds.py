"""Loops whose rounds are other ones, or come in another order, on each rank."""

from __future__ import annotations

from astroid import nodes

from ....domain import events
from ....domain.path_conditions import PathCondition
from ....domain.values import BELOW, BELOW_ANYHOW, Const, Obj, ParamV, Text, TupleV, Value
from ....interpreter.expressions import orders, own_values, owning
from ....interpreter.expressions.conditions import mentions_rank
from ....interpreter.expressions.numbers import is_number, number_made_of
from ....interpreter.syntax import changed_in
from ...interface import Machine
from ..checkpoints import gathering

_FOLDERS = frozenset(f"{name}()" for name in "iterdir glob rglob".split()) | frozenset(
    ("os.listdir", "os.scandir", "glob.glob", "glob.iglob")
)


def some_ranks_only(machine: Machine, found: list[tuple[PathCondition, Value]], node: nodes.NodeNG) -> None:
    """Some elements may be there on some ranks only, with nothing in their place on the others."""
    ranked = [guard for guard, _ in found if any(mentions_rank(formula) for formula, _ in guard.literals)]
    if any(all(guard.compatible(other) for other, _ in found) for guard in ranked):
        how = "only some ranks have what this loop goes through"
        machine.emit(events.Uneven(loop=_loop(node), how=how, in_part=True), node)


def without_order(machine: Machine, leaf: Value, node: nodes.NodeNG) -> None:
    """A set is gone through in the order of its hashes."""
    if isinstance(leaf, Obj) and leaf.atom.origin in _FOLDERS and leaf.parent is None:
        why = "a folder is read in the order of its file system, which may differ between nodes"
        machine.emit(events.Uneven(loop=_loop(node), why=why), node)
    elif (held := orders.held(machine, leaf)) is not None:
        hashed = {_hashed(machine, item) for item in held} or {None}
        if how := next(filter(None, sorted(filter(None, hashed))), ""):
            how = f"this loop goes through a set of {how}, whose order differs between processes"
            machine.emit(events.Uneven(loop=_loop(node), how=how), node)
        elif None in hashed:
            machine.emit(events.Uneven(loop=_loop(node), why="what the set of this loop holds is not known"), node)
    elif keys := orders.unknown_keys(machine, leaf):
        why = "whether all ranks have filled the dict of this loop in the same order is not known"
        machine.emit(events.Uneven(loop=_loop(node), why=why, keys=keys), node)


def by_number(machine: Machine, leaf: Value, node: nodes.NodeNG) -> None:
    """How often a loop goes round may be another number on each rank."""
    if (own := own_values.rounds_of(machine, leaf)) is not None:
        machine.own_rounds[_loop(node)] = own
        machine.ended_by.setdefault(_loop(node), own)


def left(machine: Machine, node: nodes.NodeNG) -> None:
    """``break``, ``return``, or a condition of ``while``."""
    if not machine.owned and not machine.libraries.any_sharded:
        return
    loops: list[nodes.NodeNG] = []
    at = node
    while not isinstance(at, (nodes.FunctionDef, nodes.ClassDef, nodes.Module)):
        loops += [at] if isinstance(at, (nodes.For, nodes.While)) else []
        at = at.parent
    if loops:
        machine.emit(events.LoopLeft(loops=loops if isinstance(node, nodes.Return) else loops[:1]), node)
        if not isinstance(node, nodes.Return) and (own := own_values.chosen(machine, machine.guard)) is not None:
            machine.ended_by[loops[0]] = own


def ended(machine: Machine, loop: nodes.NodeNG) -> None:
    """A loop is over. If each rank has ended it by what it alone has, so is what its rounds have counted."""
    own = machine.ended_by.pop(loop, None)
    for target in changed_in(loop) if own is not None else ():
        if isinstance(target, nodes.AssignName) and isinstance(target.parent, nodes.AugAssign):
            scope = machine.scope_of(target.name)
            counted = machine.store.get((scope, target.name))
            if isinstance(counted, Obj) and is_number(counted) and own_values.own_of(machine, counted) is None:
                made = number_made_of(machine, target.name, counted)
                owning.began(machine, made.atom, own)
                machine.store.put((scope, target.name), made, local=isinstance(scope, int))


def _hashed(machine: Machine, item: Value) -> str | None:
    """What is hashed by its address, or with a salt: empty where all processes agree. None: not known."""
    if isinstance(item, TupleV):
        parts = [_hashed(machine, part) for part in item.items]
        return next(filter(None, parts), None if None in parts else "")
    if isinstance(item, Const):
        return "strings" if isinstance(item.value, (str, bytes)) else ""
    if isinstance(item, Text) or gathering.is_each_key(item):
        return "strings"
    if isinstance(item, ParamV) or isinstance(item, Obj) and item.atom.parameter is not None:
        return "parameters"
    if isinstance(item, Obj) and "['params']" in item.path and machine.libraries.optimizers.intersection(item.above):
        return "parameters"
    return "modules" if isinstance(item, Obj) and _is_module(machine, item) else None


def _is_module(machine: Machine, obj: Obj) -> bool:
    if obj.item in (BELOW, BELOW_ANYHOW) or obj in machine.parents:
        return True
    return obj.parent is None and obj.atom.module is True


def _loop(node: nodes.NodeNG) -> nodes.NodeNG:
    """The loop, or the comprehension, that goes through ``node``."""
    around = node.parent
    return around.parent if isinstance(around, nodes.Comprehension) else around
