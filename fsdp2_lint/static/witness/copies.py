"""Copies of models."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.copies import Copied
from .. import events
from ..handles import Program, StaticModel
from ..trace import Step
from .producers import on


@on(events.Copied)
def copied(program: Program, step: Step[events.Copied]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield Copied(when=step.when, by=step.what.by, model=StaticModel(program, step.subject, step))
