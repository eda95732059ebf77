"""Copies of models."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.copies import Copied
from ..handles import Program, StaticModel
from ..trace import Step
from .producers import on


@on("copied")
def copied(program: Program, step: Step) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield Copied(when=step.when, by=step["by"], model=StaticModel(program, step.subject, step))
