"""Batches, and the loaders that they come from."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.data import BatchTrained, LoaderRead
from .. import events
from ..handles import Program, StaticModel
from ..handles.data import StaticBatch, StaticEpochs, trained_on
from ..trace import Step
from .producers import on


@on(events.LoaderRead)
def loader_read(program: Program, step: Step[events.LoaderRead]) -> Iterator[Event]:
    if program.machine.any_sharded:
        yield LoaderRead(when=step.when, epochs=StaticEpochs(program, step))


@on(events.Called)
def batch_trained(program: Program, step: Step[events.Called]) -> Iterator[Event]:
    if step.subject is None or step.what.inside or not step.what.hooked or not program.concerned(step.subject):
        return
    if trained_on(program, step) is not None:
        model = StaticModel(program, step.subject, step)
        yield BatchTrained(when=step.when, batch=StaticBatch(program, step), model=model)
