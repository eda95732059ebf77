"""Broadcasts in loops."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.broadcasts import BroadcastRepeated
from .. import events
from ..handles import Program
from ..handles.broadcasts import StaticNames
from ..trace import Step
from .producers import on


@on(events.Broadcast)
def repeated(program: Program, step: Step[events.Broadcast]) -> Iterator[Event]:
    if program.machine.any_sharded:
        yield BroadcastRepeated(when=step.when, names=StaticNames(program, step))
