"""What ``verify`` compares with: checks of this server, by the name that their answer gave, and revisions of git."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from fsdp2_lint.errors import NothingToCheck
from fsdp2_lint.findings.copies import moved
from fsdp2_lint.servers.revisions import commit_of, top_of, written_out
from fsdp2_lint.vocab.finding import Finding

Paths = tuple[str, ...]
MOST = 64  # that are kept; the oldest go first


@dataclass(frozen=True, slots=True)
class Start:
    """What was found in ``paths`` before the edits, of the codes in ``select`` or (None) of those in the settings."""

    name: str
    paths: Paths
    select: tuple[str, ...] | None
    findings: list[Finding]


class Starts:
    """Those of one server, and of the repository around the folder that it serves."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept: dict[str, Start] = {}
        self._numbers = count(1)

    def keep(self, paths: Paths, select: Sequence[str] | None, findings: Sequence[Finding]) -> str:
        """The name of a check from here on."""
        name = f"s{next(self._numbers)}"
        self._kept[name] = Start(name, paths, tuple(select) if select is not None else None, [*findings])
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        return name

    @property
    def names(self) -> list[str]:
        return [*self._kept]

    def named(self, name: str) -> Start | None:
        return self._kept.get(name)

    def first(self, paths: Paths) -> Start | None:
        """The first check of just these paths."""
        return next((each for each in self._kept.values() if each.paths == paths), None)

    def revision(
        self, revision: str, paths: Paths, check: Callable[[Sequence[str]], Sequence[Finding]]
    ) -> Start | None:
        """What ``check`` finds in the files as they were in a revision; None if there is no such revision."""
        top = top_of(self._folder)
        commit = commit_of(revision, top) if top is not None else None
        if top is None or commit is None:
            return None
        with written_out(commit, top) as folder:
            there = [os.path.normpath(os.path.join(folder, os.path.relpath(path, top))) for path in paths]
            then = [path for path in there if os.path.lexists(path)]
            try:
                found = check(then) if then else ()
            except NothingToCheck:
                found = ()
            return Start(f"{revision} ({commit[:10]})", paths, None, [moved(each, folder, top) for each in found])
