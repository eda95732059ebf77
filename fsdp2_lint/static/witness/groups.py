"""The groups of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.groups import GroupSettled
from .. import events
from ..handles import Program
from ..handles.grouping import StaticGrouping
from .producers import at_end


@at_end
def settled(program: Program) -> Iterator[Event]:
    for step in program.trace.of(events.Sharded):
        if step.what.group:
            yield GroupSettled(when=step.when, group=StaticGrouping(program, step, step.what.group[0]))
