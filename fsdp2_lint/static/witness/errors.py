"""Exceptions around a training step."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.errors import StepGuarded
from ..handles import Program
from ..handles.errors import StaticHandler, handlers_around
from ..trace import Step
from .producers import on


@on("called", "backward")
def guarded(program: Program, step: Step) -> Iterator[Event]:
    """A root's call or a backward; what runs inside the call is behind it."""
    if not program.machine.any_sharded or step.kind == "called" and (step["inside"] or not step["hooked"]):
        return
    for caught in handlers_around(program.machine.project, step):
        handler = StaticHandler(program, step, caught)
        yield StepGuarded(when=handler.when, handler=handler)
