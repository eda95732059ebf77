"""Parameters that ``fully_shard`` replaces."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.replacement import ParametersReplaced
from .. import events
from ..handles import Program
from ..handles.replacement import StaticReplacement
from .producers import at_end


@at_end
def replaced(program: Program) -> Iterator[Event]:
    if not any(True for _ in program.trace.of(events.ParamHook, events.ParamMarked, events.Clipped)):
        return
    for step in program.trace.of(events.Sharded):
        if step.what.group:
            yield ParametersReplaced(when=step.when, replacement=StaticReplacement(program, step, step.what.group[0]))
