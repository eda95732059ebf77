"""Who turns which steps of a trace into events. Producers register themselves here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...vocab.events.base import Event
from ..handles import Program
from ..trace import Step

OnStep = Callable[[Program, Step], Iterator[Event]]
AtEnd = Callable[[Program], Iterator[Event]]

ON_STEP: dict[str, list[OnStep]] = {}
AT_END: list[AtEnd] = []


def on(*kinds: str) -> Callable[[OnStep], OnStep]:
    """Called for each step of these kinds, in the order of the program."""

    def register(producer: OnStep) -> OnStep:
        for kind in kinds:
            ON_STEP.setdefault(kind, []).append(producer)
        return producer

    return register


def at_end(producer: AtEnd) -> AtEnd:
    """Called once, for what is only true when the program has been seen as a whole."""
    AT_END.append(producer)
    return producer
