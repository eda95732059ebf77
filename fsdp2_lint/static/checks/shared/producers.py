"""Who turns what into events: steps of a trace, a whole program, or text. Producers register themselves here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from ....vocab.events.base import Event
from ...domain import events
from ...domain.events import Step
from ...domain.trace import E, F
from ...frontend.project import Project
from .program import Program

OnStep = Callable[[Program, Step[E]], Iterator[Event]]
AtEnd = Callable[[Program], Iterator[Event]]
InText = Callable[[Project, str], Iterator[Event]]


@dataclass(frozen=True, slots=True)
class Text:
    """Reads events of one ``kind`` off a file; off those that speak of FSDP2, or ``everywhere`` in the project."""

    kind: type[Event]
    read: InText
    everywhere: bool


ON_STEP: dict[type[events.Event], list[OnStep[Any]]] = {}
AT_END: list[AtEnd] = []
IN_TEXT: list[Text] = []


@overload
def on(kind: type[E], /) -> Callable[[OnStep[E]], OnStep[E]]: ...
@overload
def on(one: type[E], other: type[F], /) -> Callable[[OnStep[E | F]], OnStep[E | F]]: ...
def on(*kinds: type[events.Event]) -> Callable[[OnStep[Any]], OnStep[Any]]:
    """Called for each step of these kinds, in the order of the program."""

    def register(producer: OnStep[Any]) -> OnStep[Any]:
        for kind in kinds:
            ON_STEP.setdefault(kind, []).append(producer)
        return producer

    return register


def at_end(producer: AtEnd) -> AtEnd:
    """Called once, for what is only true when the program has been seen as a whole."""
    AT_END.append(producer)
    return producer


def in_text(kind: type[Event], *, everywhere: bool = False) -> Callable[[InText], InText]:
    """Called for each file, if any rule asks for such events: no program has to come there."""

    def register(producer: InText) -> InText:
        IN_TEXT.append(Text(kind, producer, everywhere))
        return producer

    return register
