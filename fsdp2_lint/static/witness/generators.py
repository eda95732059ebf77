"""Generators of parameters, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.generators import GeneratorRead
from .. import events
from ..handles import Program, StaticModel
from ..handles.generators import StaticGenerator
from ..trace import Step
from .producers import on


@on(events.Consumed)
def consumed(program: Program, step: Step[events.Consumed]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        model = StaticModel(program, step.subject, step)
        yield GeneratorRead(when=step.when, by=step.what.by, generator=StaticGenerator(program, step), model=model)
