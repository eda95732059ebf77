"""Turns the trace of one program into the events that rules judge: one module for each part of a program."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ..handles import Program
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
    training,
)
from .producers import AT_END, ON_STEP


def witness(program: Program) -> Iterator[Event]:
    """All events of a program: first as they happen, then what is only true at the end."""
    for step in program.trace.steps:
        program.judged = step
        for producer in ON_STEP.get(step.kind, ()):
            yield from producer(program, step)
    program.judged = None
    for ending in AT_END:
        yield from ending(program)
