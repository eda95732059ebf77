"""Turns the trace of one program into the events that rules judge: one module for each part of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...vocab.events.base import Event
from ...vocab.rule import Court
from ..handles import Program
from ..project import Project
from . import (  # noqa: F401 (they register)
    broadcasts,
    calls,
    checkpoints,
    composition,
    copies,
    data,
    errors,
    forward,
    fsdp1_methods,
    generators,
    groups,
    initialisation,
    losses,
    migration,
    plans,
    policies,
    precision,
    process,
    readings,
    replacement,
    scalers,
    state_helpers,
    steps,
    text,
    training,
)
from .producers import AT_END, IN_TEXT, ON_STEP


def witness(program: Program) -> Iterator[Event]:
    """All events of a program: first as they happen, then what is only true at the end."""
    for step in program.trace.steps:
        program.judged = step
        for producer in ON_STEP.get(type(step.what), ()):
            yield from producer(program, step)
    program.judged = None
    for ending in AT_END:
        yield from ending(program)


def seen_in_text(project: Project, seeds: Sequence[str], court: Court) -> Iterator[Event]:
    """All events that need no program, of the kinds that any rule asks for. ``seeds`` are the files with FSDP2."""
    for source in IN_TEXT:
        if court.hears(source.kind):
            for path in project.scope if source.everywhere else seeds:
                yield from project.careful(source.read, path)
