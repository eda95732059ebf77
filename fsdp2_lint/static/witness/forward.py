"""Uses of weights: what reaches a parameter past the hooks that gather it."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.forward import Called, WeightUsed
from ..handles import Program
from ..handles.forward import Group, PastHooks, StaticWeight, culprit, group_of
from ..handles.structure import owns_parameters
from ..trace import Step
from ..values import Obj
from .producers import at_end


@at_end
def uses(program: Program) -> Iterator[Event]:
    """Operations on weights, and calls of layers that have one and are not sharded themselves."""
    told: set[tuple[Obj, str]] = set()  # one registration mends all calls of a method
    for step in sorted(program.trace.of("weight_used", "called"), key=lambda step: step.index):
        owner = step.subject
        if owner is None or step.kind == "called" and not _is_layer(program, step):
            continue
        group = group_of(program, owner, step) if program.concerned(owner) else None
        if not isinstance(group, Group) or group.module in step["inside"]:
            continue
        if step.kind == "called" and group.module is owner:
            continue  # its own hooks run
        at = culprit(program, step)
        if at.kind == "part":
            weight = StaticWeight(program, owner, step, group, step.detail.get("name", ""))
            yield WeightUsed(when=at.when, weight=weight)
        elif at.kind == "method" and (at.obj, at.name) not in told:
            model = PastHooks(program, at.obj, step, group=group)
            if model.hooks_bypassed(at.name).surely:
                told.add((at.obj, at.name))
            yield Called(when=at.when, model=model, method=at.name)


def _is_layer(program: Program, step: Step) -> bool:
    owner = step.subject
    return bool(step["hooked"]) and owner is not None and (owner in program.owners or owns_parameters(owner))
