"""The checks, a folder for each topic of the contract: from the trace of one program to the answers that rules ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...vocab.events.base import Event
from ...vocab.rule import Dispatcher
from ..frontend.project import Project
from . import checkpoints, forward, initialisation, launch, migration, precision, ranks, sharding, training  # noqa: F401
from .shared.producers import AT_END, IN_TEXT, ON_STEP
from .shared.program import Program


def events_of(program: Program) -> Iterator[Event]:
    """All events of a program: first as they happen, then what is only true at the end."""
    for step in program.trace.steps:
        program.judged = step
        for producer in ON_STEP.get(type(step.what), ()):
            yield from producer(program, step)
    program.judged = None
    for ending in AT_END:
        yield from ending(program)


def seen_in_text(project: Project, seeds: Sequence[str], dispatcher: Dispatcher) -> Iterator[Event]:
    """All events that need no program, of the kinds that any rule asks for. ``seeds`` are the files with FSDP2."""
    for source in IN_TEXT:
        if dispatcher.wants(source.kind):
            for path in project.scope if source.everywhere else seeds:
                yield from project.careful(source.read, path)
