"""Patterns in the manner of ``.gitignore``: of the settings, and of those files themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from fsdp2_lint.catalogue.codes import ALL
from fsdp2_lint.files.gitignore import Lines
from fsdp2_lint.files.reading import SETTINGS_BYTES, read, reason_of

EXCLUDE, GITIGNORE = "exclude", ".gitignore"


class Patterns:
    """Patterns that are anchored at one folder."""

    def __init__(self, folder: str, lines: Iterable[str]) -> None:
        self._prefix = folder.rstrip(os.sep) + os.sep
        self._lines = _compiled(tuple(lines))

    def says(self, path: str) -> bool | None:
        """Does the path itself fit? None if no pattern speaks of it. A folder ends with a separator."""
        if not path.startswith(self._prefix) or path == self._prefix:
            return None
        inner = path[len(self._prefix) :].replace(os.sep, "/")
        return self._lines.say(inner.rstrip("/"), folder=inner.endswith("/"))

    def hold(self, path: str) -> bool:
        """Does a file fit, or a folder above it?"""
        return any(self.says(each) for each in _with_folders(path))


def _with_folders(path: str) -> Iterator[str]:
    """A file and all folders above it."""
    yield path
    while (folder := os.path.dirname(path)) != path:
        yield folder.rstrip(os.sep) + os.sep
        path = folder


_compiled = cache(Lines)


class Exclusion:
    """What is not to be walked into: the setting ``exclude``, as lines below a folder, and what git ignores."""

    def __init__(self, folder: str = "", exclude: Sequence[str] = (), *, gitignore: bool = False) -> None:
        self._folder = folder
        self._lines = tuple(exclude)
        self._exclude = Patterns(folder, self._lines) if self._lines else None
        self._gitignore = gitignore
        self.unread: dict[str, str] = {}  # files of git that say something that nobody knows
        self._scopes: dict[str, tuple[Patterns, ...] | None] = {}  # by folder, the nearest first

    def inside(self, top: str) -> Exclusion:
        """For a walk of a folder that the user named: what leaves out all of it does not count."""
        path = top + os.sep
        if not self.skips(path):
            return self
        kept = [line for line in self._lines if not Patterns(self._folder, (line,)).says(path)]
        inner = Exclusion(self._folder, kept, gitignore=self._gitignore)
        inner.unread = self.unread
        if self._gitignored(path):
            inner._scopes[top] = self._own(top)
        return inner

    @property
    def by_settings(self) -> bool:
        """Do the settings leave out anything?"""
        return bool(self._lines)

    def of_git(self) -> Exclusion:
        """The same without what the settings leave out."""
        return Exclusion(self._folder, gitignore=self._gitignore)

    def skips(self, path: str) -> str:
        """What leaves out a file, or a folder with a separator at its end: ``exclude``, ``.gitignore``, or nothing."""
        if self._exclude is not None and self._exclude.says(path):
            return EXCLUDE
        return GITIGNORE if self._gitignored(path) else ""

    def holds(self, path: str) -> str:
        """What leaves out a file, or a folder above it."""
        return next(filter(None, map(self.skips, _with_folders(path))), "")

    def _gitignored(self, path: str) -> bool:
        scope = self._scope(os.path.dirname(path.rstrip(os.sep))) if self._gitignore else None
        return bool(next((said for each in scope or () if (said := each.says(path)) is not None), False))

    def _scope(self, folder: str) -> tuple[Patterns, ...] | None:
        """The files that speak of what a folder holds; None outside a repository, where they mean nothing."""
        if folder not in self._scopes:
            parent = os.path.dirname(folder)
            above: tuple[Patterns, ...] | None = None
            if os.path.exists(os.path.join(folder, ".git")):
                above = ()
            elif parent != folder:
                above = self._scope(parent)
            self._scopes[folder] = None if above is None else (*self._own(folder), *above)
        return self._scopes[folder]

    def _own(self, folder: str) -> tuple[Patterns, ...]:
        path = os.path.join(folder, GITIGNORE)
        try:
            lines = read(path, SETTINGS_BYTES).decode("utf-8-sig", "replace").split("\n")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ()
        except OSError as error:
            self.unread[path] = reason_of(error)
            return ()
        return (Patterns(folder, lines),) if lines else ()


class PerFile:
    """The setting ``per-file-ignores``. A pattern that begins with ``!`` speaks of all other files."""

    def __init__(self, folder: Path, table: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._table = [
            (Patterns(str(folder), (pattern.removeprefix("!"),)), pattern.startswith("!"), codes)
            for pattern, codes in table
        ]

    def ignores(self, code: str, path: str) -> bool:
        return any(
            patterns.hold(path) != others and any(code.startswith(prefix) or prefix == ALL for prefix in codes)
            for patterns, others, codes in self._table
        )
