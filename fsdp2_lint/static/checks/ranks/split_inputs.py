"""Models that may split what they are called with over the ranks: such ranks are to have the same batch."""

from __future__ import annotations

from collections.abc import Iterator

from astroid import nodes

from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import ClassV, Obj
from ...frontend.module import Module
from ...libraries.torch.ranks.groups import holds_group
from ..shared.program import Program
from ..shared.structure import of_torch


def may_split(program: Program, call: Step[events.Called]) -> str:
    """Why the ranks may work on parts of one input in this call; empty where nothing that was seen speaks for it."""
    for step in program.trace.of(events.InputSplit):
        if step.guard.compatible(call.guard) and (step.index < call.index or _inside(step, call)):
            return f"{step.what.why} ({step.when.at}): the model may split its input over the ranks"
    if call.subject in program.machine.picking:
        return "the forward takes the part of the rank out of a tensor"
    kept = next(_kept(program, call.subject), "") or next(_at_hand(program, call), "")
    return f"{kept} is a process group: the model may split its input over the ranks" if kept else ""


def _inside(step: AnyStep, call: AnyStep) -> bool:
    """Is it a part of what this call does?"""
    return call.index < step.index and step.when.chain[: len(call.when.chain)] == call.when.chain


def _kept(program: Program, model: Obj | None) -> Iterator[str]:
    """Attributes that are process groups, of the model and of its parts whose forward was not seen."""
    machine = program.machine
    for holder, names in machine.store.fields.items():
        if _followed(program, holder) or not program.touches(model, holder):
            continue
        for name in names:
            value = machine.store.get((holder, name))
            if value is not None and holds_group(machine, value):
                yield f"{program.label(holder)}'s {name}"


def _followed(program: Program, obj: Obj) -> bool:
    """Is all that it can do code of the project, or of torch? Then what a forward does with a group was followed."""
    cls = program.machine.class_of(obj)
    if cls is not None:
        return program.machine.closed_class(cls)
    return obj.parent is None and of_torch(obj.atom.cls)


def _at_hand(program: Program, call: Step[events.Called]) -> Iterator[str]:
    """Variables of files and of classes that are process groups, where the model may be of code that reads them."""
    machine, script = program.machine, call.when.chain[0].path
    if call.subject is None or _followed(program, call.subject):
        return
    for key, value in machine.store.state.items():
        if not isinstance(key, tuple) or not isinstance(key[0], (Module, ClassV)) or not holds_group(machine, value):
            continue
        holder, name = key
        if isinstance(holder, ClassV) or holder.path != script or _set_by_function(holder, name):
            yield f"{holder.name}.{name}"


def _set_by_function(module: Module, name: str) -> bool:
    return any(name in each.names for each in module.tree.nodes_of_class(nodes.Global))
