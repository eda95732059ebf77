"""Scalers of the loss that make an optimizer's step."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.scalers import ScalerStepped
from .. import events
from ..handles import Program
from ..handles.scalers import StaticScaler
from ..trace import Step
from .producers import on


@on(events.Scaled)
def scaled(program: Program, step: Step[events.Scaled]) -> Iterator[Event]:
    for created in program.trace.of(events.Optimizer):
        for held in created.what.held if created.subject is step.subject else ():
            path = step.guard.join(held.guard)
            if path is not None and program.concerned(held.model):
                scaler = StaticScaler(program, step, program.top(held.model), path)
                yield ScalerStepped(when=step.when, scaler=scaler, scaler_made=step.what.scaler.facts["made at"])
                return
