"""The programs of a repository, each followed once, and again with edits. Nothing of them is imported or run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.static.budget import BUDGET
from fsdp2_lint.static.course import Course
from fsdp2_lint.static.entries import Entry, find_entries
from fsdp2_lint.static.following import Followed, Limits, _Following, forget_last
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.static.frontend.project import Project
from fsdp2_lint.static.garbage import Garbage, by_hand
from fsdp2_lint.static.room import with_room
from fsdp2_lint.vocab.finding import Finding
from fsdp2_lint.vocab.overlaps import without_consequences
from fsdp2_lint.vocab.rule import for_target
from fsdp2_lint.vocab.target import NEWEST

from .text import Edit, changed, row_after
from .view import View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """A program, and how far it is followed."""

    entry: Entry
    limits: Limits

    def after(self, edits: tuple[Edit, ...]) -> Task:
        """The same program in the files that were edited."""
        path, row, name = self.entry.where
        moved = row_after(edits, path, row) if row else row
        return Task(Entry(self.entry.kind, self.entry.name, (path, moved, name)), self.limits)


@dataclass(frozen=True, slots=True)
class Seen:
    """One program, followed. Its view lasts until the next one is followed."""

    task: Task
    view: View
    followed: Followed

    @property
    def findings(self) -> list[Finding]:
        """Those of this program, as a user would be told them."""
        found = {each.key: each for verdict in self.followed.verdicts for each in verdict.findings}
        return without_consequences(list(found.values()), {key: {self.task.entry.name} for key in found})

    def unknown(self, code: str) -> list[str]:
        """Why nobody can say whether a clause is violated."""
        verdicts = [verdict for verdict in self.followed.verdicts if verdict.code == code]
        return list(dict.fromkeys(why for verdict in verdicts for why in verdict.unknown))


class Repository:
    """A folder that is one project. ``steps``: what is left of those that all that is followed may take together."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.root, self.steps = os.path.realpath(folder), steps
        found = discover([self.root])
        self.files, self.overlay = found.files, found.overlay
        self.rules = [
            rule for rule in for_target(registry.rules(), pinned_torch(folder) or NEWEST) if "S" in rule.judged_by
        ]
        self._garbage = Garbage()

    def data(self, path: str) -> bytes:
        return self.overlay[path] if path in self.overlay else Path(path).read_bytes()

    def programs(self, share: float) -> Iterator[Seen]:
        """As a check comes to them, for a share of the steps."""
        project, least = self._project({}), self.steps * (1 - share)
        course = Course(find_entries(project, frozenset()), BUDGET)
        for entry, limits in course.steps():
            if self.steps < least:
                return
            seen = self._follow(project, Task(entry, limits))
            course.reached |= seen.followed.reached
            yield seen

    def again(self, task: Task, edits: tuple[Edit, ...]) -> Seen:
        """The program with its edits. ValueError or SyntaxError if they cannot be made."""
        paths = {edit.path for edit in edits}
        overlay = {path: changed(self.data(path), [each for each in edits if each.path == path]) for path in paths}
        project = self._project(overlay)
        find_entries(project, frozenset())  # which also tells the project from where sharding code is reached
        return self._follow(project, task.after(edits))

    def _project(self, overlay: Mapping[str, bytes]) -> Project:
        project = Project(Path(self.root), {**self.overlay, **overlay})
        project.take(sorted(self.files), None)
        return project

    def _follow(self, project: Project, task: Task) -> Seen:
        forget_last()
        self._garbage.collect()
        following = _Following(project, self.rules, task.entry, task.limits, keep_trace=False)
        followed = following.run()
        self._garbage.made(followed.steps)
        self.steps -= followed.steps
        return Seen(task, View(following.program), followed)


def deep(work: Callable[[], T]) -> T:
    """An answer from a thread in which calls may nest as deeply as the analysis needs."""
    found: list[T] = []

    def run() -> None:
        with by_hand():
            found.append(work())

    with_room(run)
    return found[0]
