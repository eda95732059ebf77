"""Exceptions around a training step."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.errors import StepGuarded
from .. import events
from ..handles import Program
from ..handles.errors import StaticHandler, handlers_around
from ..trace import Step
from .producers import on


@on(events.Called, events.Backward)
def guarded(program: Program, step: Step[events.Called | events.Backward]) -> Iterator[Event]:
    """A root's call or a backward; what runs inside the call is behind it."""
    if (
        not program.machine.any_sharded
        or isinstance(step.what, events.Called)
        and (step.what.inside or not step.what.hooked)
    ):
        return
    for caught in handlers_around(program.machine.project, step):
        handler = StaticHandler(program, step, caught)
        yield StepGuarded(when=handler.when, handler=handler)
