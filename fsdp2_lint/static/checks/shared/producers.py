"""Who turns what into events: steps of a trace, a whole program, or text. Producers register themselves here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

from ....vocab.declared import record
from ....vocab.events.base import Event
from ...domain import events
from ...domain.events import Step
from ...domain.trace import E, F
from ...domain.values import Obj
from ...frontend.module import Module
from ...frontend.project import Project
from .program import Program

OnStep = Callable[[Program, Step[E]], Iterator[Event]]
OnObject = Callable[[Program, Step[E], Obj], Iterator[Event]]
AtEnd = Callable[[Program], Iterator[Event]]
InText = Callable[[Project, str], Iterator[Event]]
InModule = Callable[[Module, Project], Iterator[Event]]


@record
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


def on_concerned(kind: type[E]) -> Callable[[OnObject[E]], OnObject[E]]:
    """As ``on``, where any sharding may have to do with the subject of the step: who is called gets that as well."""

    def register(producer: OnObject[E]) -> OnObject[E]:
        @on(kind)
        def asked(program: Program, step: Step[E]) -> Iterator[Event]:
            if step.subject is not None and program.concerned(step.subject):
                yield from producer(program, step, step.subject)

        return producer

    return register


def at_end(producer: AtEnd) -> AtEnd:
    """Called once, for what is only true when the program has been seen as a whole."""
    AT_END.append(producer)
    return producer


def in_module(kind: type[Event], reader: InModule) -> None:
    """Called for each file that speaks of FSDP2, if any rule asks for such events: no program has to come there."""

    def read(project: Project, path: str) -> Iterator[Event]:
        module = project.module(path)
        yield from reader(module, project) if module is not None else ()

    IN_TEXT.append(Text(kind, read, everywhere=False))


def in_project(kind: type[Event], reader: InText) -> None:
    """Likewise for each file of the project."""
    IN_TEXT.append(Text(kind, reader, everywhere=True))
