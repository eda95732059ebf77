"""Generators of parameters, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.generators import GeneratorRead
from ..handles import Program, StaticModel
from ..handles.generators import StaticGenerator
from ..trace import Step
from .producers import on


@on("consumed")
def consumed(program: Program, step: Step) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        model = StaticModel(program, step.subject, step)
        yield GeneratorRead(when=step.when, by=step["by"], generator=StaticGenerator(program, step), model=model)
