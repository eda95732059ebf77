"""Patterns in the manner of ``.gitignore``: of the settings, and of those files themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

GITIGNORE = ".gitignore"


class Patterns:
    """Patterns that are anchored at one folder."""

    def __init__(self, folder: str, lines: Iterable[str]) -> None:
        self._prefix = folder.rstrip(os.sep) + os.sep
        self._spec = _compiled(tuple(lines))

    def says(self, path: str) -> bool | None:
        """Does the path fit? None if no pattern speaks of it. A folder ends with a separator."""
        if self._spec is None or not path.startswith(self._prefix):
            return None
        return self._spec.check_file(path[len(self._prefix) :].replace(os.sep, "/")).include


@cache
def _compiled(lines: tuple[str, ...]) -> GitIgnoreSpec | None:
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


class Exclusion:
    """What is not to be walked into: the setting ``exclude``, and what git ignores."""

    def __init__(self, exclude: Patterns | None = None, *, gitignore: bool = False) -> None:
        self._exclude = exclude
        self._gitignore = gitignore
        self._scopes: dict[str, tuple[Patterns, ...] | None] = {}  # by folder, the nearest first

    def enter(self, top: str) -> None:
        """A folder that the user named is walked, whatever git says of it or of a folder above."""
        if self._gitignored(top + os.sep):
            self._scopes[top] = _own(top)

    def skips(self, path: str) -> bool:
        """Is a file, or a folder with a separator at its end, left out?"""
        return bool(self._exclude is not None and self._exclude.says(path)) or self._gitignored(path)

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
            self._scopes[folder] = None if above is None else (*_own(folder), *above)
        return self._scopes[folder]


def _own(folder: str) -> tuple[Patterns, ...]:
    lines = _lines(os.path.join(folder, GITIGNORE))
    return (Patterns(folder, lines),) if lines else ()


def _lines(path: str) -> tuple[str, ...]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return tuple(file.read().splitlines())
    except OSError:
        return ()


class PerFile:
    """The setting ``per-file-ignores``."""

    def __init__(self, folder: Path, table: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._table = [(Patterns(str(folder), (pattern,)), codes) for pattern, codes in table]

    def ignores(self, code: str, path: str) -> bool:
        return any(
            patterns.says(path) and any(code.startswith(prefix) or prefix == "ALL" for prefix in codes)
            for patterns, codes in self._table
        )
