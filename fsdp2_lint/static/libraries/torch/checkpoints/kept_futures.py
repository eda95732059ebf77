"""Futures of saves that an attribute keeps: which of them somebody waits for, and which the next save overwrites.

A loop is followed for one round, in which nothing is under way yet. So where a class waits for what an attribute holds,
the attribute holds, from the beginning of a loop on, either what it held before or the save of an earlier round.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeGuard

from astroid import nodes

from .....vocab.declared import record
from ....domain import events
from ....domain.choices import choose
from ....domain.formulas import either
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import NONE, AbstractObject, ClassV, Obj, TupleV, Value, unknown
from ....frontend.names import names_in
from ....interpreter.call import Call
from ....interpreter.syntax import loops_around
from ...interface import Machine
from ...tables import method_observer
from .async_saves import SAVING, WAITS

_SAVES = "async_save"
Place = tuple[int, int] | None
"""Where a future lies in a tuple, and of how many items; None where it is kept alone."""


@record
class OfEarlierRounds:
    """It stands for the saves of earlier rounds of a loop."""

    loop: nodes.NodeNG


def is_future(value: Value) -> TypeGuard[Obj]:
    return isinstance(value, Obj) and value.atom.origin == SAVING


@method_observer
def waited(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``future.result()``, or ``response.upload_completion.result()``."""
    if is_future(obj) and name in WAITS:
        machine.emit(events.SaveAwaited(future=obj.atom.root, in_words=not _leaves_loops(machine)), call.node)


def _leaves_loops(machine: Machine) -> bool:
    """May a loop of the methods that run be left by a ``return``, on a condition of which the path keeps nothing?"""
    functions = [frame.func for frame in machine.frames if frame.func is not None]
    own = [each.node for each in functions if each.owner == functions[-1].owner]
    loops = (loop for node in own for loop in node.nodes_of_class((nodes.For, nodes.While)))
    return any(next(loop.nodes_of_class(nodes.Return), None) is not None for loop in loops)


def kept(machine: Machine, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
    """An attribute is set."""
    for path, leaf in machine.alternatives(value):
        for part in leaf.items if isinstance(leaf, TupleV) else (leaf,):
            if is_future(part) and part.parent is None:
                _emit(machine, path, events.FutureKept(future=part, owner=owner, name=name), node)


def loop_begins(machine: Machine, node: nodes.NodeNG) -> None:
    """What attributes hold from here on, which the saves of earlier rounds are kept in."""
    if not machine.project.mentions(_SAVES):
        return  # which loop comes to one is not asked: callbacks and handlers are called by no name of their own
    around = loops_around([*(call for _, call in machine.calls), node])
    for owner, name, place, asking in list(_waited_for(machine)):
        before: Value = machine.store.get((owner, name))
        held = machine.alternatives(before)
        futures = [(path, future) for path, each in held if (future := _at(place, each)) is not None]
        stand_ins = [future.atom.state(OfEarlierRounds) for _, future in futures]
        if any(of is None or of.loop in around for of in stand_ins) or any(
            each != NONE for _, each in held if _at(place, each) is None
        ):
            continue  # one that was seen, the loop runs inside the other one, or something else is kept there
        earlier = AbstractObject("external", origin=SAVING, site=machine.site(node))
        earlier.know(OfEarlierRounds(node))
        if futures:
            for last in dict.fromkeys(future for _, future in futures):
                machine.store.exchange(last, earlier.root)
            path = TRUE.add(either([way.formula for way, _ in futures])) or TRUE
            if place is not None:
                beside = [(way, each) for way, each in held if _at(place, each) is None]
                machine.store.put((owner, name), choose([(path, _put(place, earlier.root)), *beside]))
        else:
            key = ("alt", machine.fresh())
            path, none = (TRUE.add(("is", key, arm)) or TRUE for arm in range(2))
            machine.store.put((owner, name), choose([(path, _put(place, earlier.root)), (none, before)]))
        what = events.FutureKept(future=earlier.root, owner=owner, name=name, loop=node, asked_by=asking)
        _emit(machine, path, what, node)


def _at(place: Place, value: Value) -> Obj | None:
    """The future that an attribute holds, alone or among the items of a tuple."""
    if place is not None and isinstance(value, TupleV):
        value = value.items[place[0]] if len(value.items) == place[1] else NONE
    return value if is_future(value) else None


def _put(place: Place, future: Obj) -> Value:
    """What an attribute holds that a future is kept in; what lay beside it in earlier rounds is not known."""
    if place is None:
        return future
    return TupleV(tuple(future if at == place[0] else unknown("an item of an earlier round") for at in range(place[1])))


def _emit(machine: Machine, path: PathCondition, what: events.FutureKept, node: nodes.NodeNG) -> None:
    with machine.on_path(machine.guard.join(path) or machine.guard):
        machine.emit(what, node)


def _waited_for(machine: Machine) -> Iterator[tuple[Obj, str, Place, frozenset[str]]]:
    """Attributes whose class waits for what they hold, and by which names its methods come to that."""
    known, objects = machine.libraries.waiting, machine.store.fields
    for owner in islice(objects, known.looked_at, None):  # loops are many, and so are objects
        bases = machine.project_classes(owner)
        names = {name: place for base in bases for name, place in _waiting(base).items()}
        known.found += ((owner, name, place, _asking(bases, name)) for name, place in names.items())
    known.looked_at = len(objects)
    return (each for each in known.found if machine.store.get(each[:2]) is not None)


def _waiting(cls: ClassV) -> dict[str, Place]:
    """Attributes for whose futures its methods wait: ``self.pending.result()``, or ``_, future = self.pending``."""
    known: dict[str, Place] | None = getattr(cls.node, "fsdp2_waiting", None)
    if known is None:
        known = cls.node.fsdp2_waiting = {}
        for function in _methods(cls):
            held = [each.expr for each in function.nodes_of_class(nodes.Attribute) if each.attrname in WAITS]
            known.update((each.attrname, None) for each in held if isinstance(each, nodes.Attribute))
            known.update(_unpacked(function, {each.name for each in held if isinstance(each, nodes.Name)}))
    return known


def _unpacked(function: nodes.FunctionDef, names: set[str]) -> Iterator[tuple[str, Place]]:
    """Attributes of which a part gets one of these names, and where that lies among the items."""
    for each in function.nodes_of_class(nodes.Assign):
        target = each.targets[0]
        if isinstance(each.value, nodes.Attribute) and isinstance(target, nodes.Tuple):
            for at, part in enumerate(target.elts):
                if isinstance(part, nodes.AssignName) and part.name in names:
                    yield each.value.attrname, (at, len(target.elts))


def _asking(bases: list[ClassV], name: str) -> frozenset[str]:
    """The attribute, and the methods that do more with it than to set it, or that call such a one."""
    methods = [method for cls in bases for method in _methods(cls)]
    found: set[str] = {name}
    while more := {each.name for each in methods if names_in(each) & found} - found - {"__init__"}:
        found |= more
    return frozenset(found)


def _methods(cls: ClassV) -> list[nodes.FunctionDef]:
    return [each for each in cls.node.body if isinstance(each, nodes.FunctionDef)]
