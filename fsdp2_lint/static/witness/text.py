"""What is seen in the text of files alone, whether or not a program comes there: the events that need no trace."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.migration import ApiUsed, Fsdp1Wrapped, Imported, UnshardEntered
from ..by_hand import entered_by_hand
from ..fsdp1 import wrapped_events
from ..imports import imported_events, names_imported
from ..project import Project
from .producers import in_text


@in_text(Imported)
def imported(project: Project, path: str) -> Iterator[Event]:
    module = project.module(path)
    yield from imported_events(module, project) if module is not None else ()


@in_text(ApiUsed)
def used(project: Project, path: str) -> Iterator[Event]:
    module = project.module(path)
    yield from names_imported(module, project) if module is not None else ()


@in_text(UnshardEntered)
def entered(project: Project, path: str) -> Iterator[Event]:
    module = project.module(path)
    yield from entered_by_hand(module) if module is not None else ()


@in_text(Fsdp1Wrapped, everywhere=True)
def wrapped(project: Project, path: str) -> Iterator[Event]:
    yield from wrapped_events(project, path)
