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
from ....domain.path_conditions import TRUE, PathCondition
from ....domain.values import NONE, AbstractObject, ClassV, Obj, Value
from ....frontend.names import names_in
from ....interpreter.call import Call
from ....interpreter.syntax import loops_around
from ...interface import Machine
from ...tables import method_observer
from .async_saves import SAVING, WAITS

_SAVES = "async_save"


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
        if is_future(leaf) and leaf.parent is None:
            _emit(machine, path, events.FutureKept(future=leaf, owner=owner, name=name), node)


def loop_begins(machine: Machine, node: nodes.NodeNG) -> None:
    """What attributes hold from here on, which the saves of earlier rounds are kept in."""
    if not machine.project.mentions(_SAVES) or not machine.project.leads_to(names_in(node), _SAVES):
        return
    around = loops_around([*(call for _, call in machine.calls), node])
    for owner, name, asking in list(_waited_for(machine)):
        before: Value = machine.store.get((owner, name))
        held = machine.alternatives(before)
        futures = [(path, each) for path, each in held if is_future(each)]
        of = futures[0][1].atom.state(OfEarlierRounds) if len(futures) == 1 else None
        if (
            futures
            and (of is None or of.loop in around)
            or any(each != NONE for _, each in held if not is_future(each))
        ):
            continue  # one that was seen, the loop runs inside the other one, or something else is kept there
        earlier = AbstractObject("external", origin=SAVING, site=machine.site(node))
        earlier.know(OfEarlierRounds(node))
        if futures:
            path, last = futures[0]
            machine.store.exchange(last, earlier.root)
        else:
            key = ("alt", machine.fresh())
            path, none = (TRUE.add(("is", key, arm)) or TRUE for arm in range(2))
            machine.store.put((owner, name), choose([(path, earlier.root), (none, before)]))
        what = events.FutureKept(future=earlier.root, owner=owner, name=name, loop=node, asked_by=asking)
        _emit(machine, path, what, node)


def _emit(machine: Machine, path: PathCondition, what: events.FutureKept, node: nodes.NodeNG) -> None:
    with machine.on_path(machine.guard.join(path) or machine.guard):
        machine.emit(what, node)


def _waited_for(machine: Machine) -> Iterator[tuple[Obj, str, frozenset[str]]]:
    """Attributes whose class waits for what they hold, and by which names its methods come to that."""
    known, objects = machine.libraries.waiting, machine.store.fields
    for owner in islice(objects, known.looked_at, None):  # loops are many, and so are objects
        bases = machine.project_classes(owner)
        names = dict.fromkeys(name for base in bases for name in _waiting(base))
        known.found += ((owner, name, _asking(bases, name)) for name in names)
    known.looked_at = len(objects)
    return (each for each in known.found if machine.store.get(each[:2]) is not None)


def _waiting(cls: ClassV) -> dict[str, None]:
    """Attributes for whose futures its methods wait: ``self.pending.result()``."""
    known: dict[str, None] | None = getattr(cls.node, "fsdp2_waiting", None)
    if known is None:
        reads = (each for function in _methods(cls) for each in function.nodes_of_class(nodes.Attribute))
        held = (each.expr for each in reads if each.attrname in WAITS and isinstance(each.expr, nodes.Attribute))
        known = cls.node.fsdp2_waiting = dict.fromkeys(each.attrname for each in held)
    return known


def _asking(bases: list[ClassV], name: str) -> frozenset[str]:
    """The attribute, and the methods that do more with it than to set it, or that call such a one."""
    methods = [method for cls in bases for method in _methods(cls)]
    found: set[str] = {name}
    while more := {each.name for each in methods if names_in(each) & found} - found - {"__init__"}:
        found |= more
    return frozenset(found)


def _methods(cls: ClassV) -> list[nodes.FunctionDef]:
    return [each for each in cls.node.body if isinstance(each, nodes.FunctionDef)]
