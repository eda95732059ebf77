"""Values that are read off DTensors."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.training import ValueRead
from .. import events
from ..handles import Program
from ..handles.readings import StaticReading
from ..trace import Step
from .producers import on


@on(events.ValueRead)
def value_read(program: Program, step: Step[events.ValueRead]) -> Iterator[Event]:
    yield ValueRead(when=step.when, reading=StaticReading(program, step))
