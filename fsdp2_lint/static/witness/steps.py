"""The order of a training step."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.steps import GradientsClipped, GradientsUsed
from .. import events
from ..handles import Program
from ..handles.steps import StaticClip, StaticStep
from ..trace import Step
from ..values import Obj
from .producers import on


@on(events.Stepped)
def used(program: Program, step: Step[events.Stepped]) -> Iterator[Event]:
    """For each model that the optimizer trains. Only a program that switches can have left something off."""
    if next(program.trace.of(events.Sync), None) is None:
        return
    tops: dict[Obj, None] = {}
    for created in program.trace.of(events.Optimizer):
        if created.subject is step.subject:
            tops.update((program.top(held.model), None) for held in created.what.held)
    for top in tops:
        if program.concerned(top):
            yield GradientsUsed(when=step.when, model=StaticStep(program, step, top))


@on(events.Clipped)
def clipped(program: Program, step: Step[events.Clipped]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield GradientsClipped(when=step.when, model=StaticClip(program, step, step.subject))
