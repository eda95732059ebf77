"""Models that begin without values, and are trained."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.initialisation import ForwardSeen, Materialised
from ..handles import Program
from ..handles.fresh import StaticFresh
from ..handles.program import RELATED
from ..handles.structure import stands_alone
from ..relations import Relation
from ..trace import Step
from .producers import at_end


@at_end
def materialised(program: Program) -> Iterator[Event]:
    for emptied in program.trace.of("emptied"):
        for fresh in trained_after(program, emptied):
            yield Materialised(when=fresh.call.when, model=fresh)
            yield ForwardSeen(when=fresh.call.when, model=fresh)


def trained_after(program: Program, begin: Step) -> Iterator[StaticFresh]:
    """The first call and the backward behind it, of a sharded model that surely runs after ``begin``."""
    obj = begin.subject
    if obj is None or program.relation(obj, obj) is not Relation.SAME or not stands_alone(program.top(obj)):
        return  # what fills it may know it by another name
    if not any(True for _ in program.units(obj, *RELATED)):
        return
    for call in program.trace.of("called", after=begin):
        if call.subject is None or program.relation(obj, call.subject) not in RELATED:
            continue
        end = next(program.trace.of("backward", after=call), None)
        if end is not None:
            yield StaticFresh(program, obj, begin, call, end)
            return
