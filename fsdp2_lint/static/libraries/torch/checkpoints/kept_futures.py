"""Futures of saves that an attribute keeps: which of them somebody waits for, and which the next save overwrites.

A loop is followed for one round, in which nothing is under way yet. So where a class waits for what an attribute holds,
the attribute holds, from the beginning of a loop on, either what it held before or the save of an earlier round.
"""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ....domain import events
from ....domain.choices import choose
from ....domain.path_conditions import TRUE
from ....domain.values import AbstractObject, ClassV, Obj, Value
from ....interpreter.call import Call
from ...interface import Machine
from ...tables import method_observer
from .async_saves import SAVING, WAITS

_IN_BACKGROUND = r"\basync_save\b"


def is_future(value: Value) -> bool:
    return isinstance(value, Obj) and value.atom.origin == SAVING


@method_observer
def waited(machine: Machine, obj: Obj, name: str, call: Call) -> None:
    """``future.result()``, or ``response.upload_completion.result()``."""
    if is_future(obj) and name in WAITS:
        machine.emit(events.SaveAwaited(future=obj.atom.root), call.node)


def kept(machine: Machine, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None:
    """An attribute is set."""
    for path, leaf in machine.alternatives(value):
        if isinstance(leaf, Obj) and is_future(leaf) and leaf.parent is None:
            with machine.on_path(machine.guard.join(path) or machine.guard):
                machine.emit(events.FutureKept(future=leaf, owner=owner, name=name), node)


def loop_begins(machine: Machine, node: nodes.NodeNG) -> None:
    """What attributes hold from here on, which the saves of earlier rounds are kept in."""
    if not machine.project.anywhere(_IN_BACKGROUND):
        return
    mentioned = machine.project.relevance.mentioned(machine.frame.module, node)
    for owner, name, waiting in list(_waited_for(machine)):
        before = machine.store.get((owner, name))
        if before is None or any(is_future(leaf) for _, leaf in machine.alternatives(before)):
            continue
        number, earlier = machine.fresh(), AbstractObject("external", origin=SAVING, site=machine.site(node)).root
        is_there = TRUE.add(("is", ("alt", number), 0)) or TRUE
        is_not = TRUE.add(("is", ("alt", number), 1)) or TRUE
        machine.store.put((owner, name), choose([(is_there, earlier), (is_not, before)]))
        perhaps = mentioned is None or bool(mentioned & waiting) or any(each.startswith("__") for each in waiting)
        with machine.on_path(machine.guard.join(is_there) or machine.guard):
            kept = events.FutureKept(future=earlier, owner=owner, name=name, loop=node, perhaps_awaited=perhaps)
            machine.emit(kept, node)


def _waited_for(machine: Machine) -> Iterator[tuple[Obj, str, frozenset[str]]]:
    """Attributes whose class waits for what they hold, and the methods that do."""
    for owner, fields in machine.store.fields.items():
        cls = machine.class_of(owner)
        if cls is None:
            continue
        for base in machine.mro(cls):
            for name, waiting in _waiting_methods(base).items() if isinstance(base, ClassV) else ():
                if name in fields:
                    yield owner, name, waiting


def _waiting_methods(cls: ClassV) -> dict[str, frozenset[str]]:
    """By the attribute that they wait for: ``self.pending.result()``."""
    known: dict[str, frozenset[str]] | None = getattr(cls.node, "fsdp2_waiting", None)
    if known is not None:
        return known
    found: dict[str, set[str]] = {}
    for function in cls.node.body:
        if isinstance(function, nodes.FunctionDef) and function.args.args:
            own = function.args.args[0].name
            for each in function.nodes_of_class(nodes.Attribute):
                held = each.expr
                if each.attrname in WAITS and isinstance(held, nodes.Attribute) and held.expr.as_string() == own:
                    found.setdefault(held.attrname, set()).add(function.name)
    waiting = cls.node.fsdp2_waiting = {name: frozenset(names) for name, names in found.items()}
    return waiting
