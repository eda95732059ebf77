"""Methods of FSDP1 that a sharded model is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.fsdp1_methods import ClipAsked, NoSyncAsked
from .. import events
from ..handles import Program
from ..handles.fsdp1_methods import StaticAsked
from ..trace import Step
from .fixes import clipped_by_torch
from .producers import on


@on(events.Fsdp1Method)
def asked(program: Program, step: Step[events.Fsdp1Method]) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        model = StaticAsked(program, step, step.subject)
        if step.what.name == "no_sync":
            yield NoSyncAsked(when=step.when, model=model)
        else:
            lacking = model.lacks_it().surely and not step.what.goes_on
            yield ClipAsked(when=step.when, model=model, fix=clipped_by_torch(program, step) if lacking else None)
