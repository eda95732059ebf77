"""Which torch a project says it runs on, read off its dependency files as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...files.reading import read
from ...vocab.target import Version
from ..budget import BUDGET

_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "requirements/*.txt", "requirements/*/*.txt")
_PIN = re.compile(r"""(?<![\w-])torch["']?\s*[=:]?\s*["'(]?\s*(?:==|>=|~=|\^)\s*(\d+)\.(\d+)""")
_BLANKS = re.compile(r"\s+")
_NAMED = re.compile(r"torch[-_]?(\d)\.(\d+)")
# `~=2.8.0` leaves only the last number open; `~=2.8` allows 2.9 too.
_EXACT = re.compile(r"""(?<![\w-])torch["']?\s*[=:]?\s*["'(]?\s*(?:==\s*(\d+)\.(\d+)|~=\s*(\d+)\.(\d+)\.\d)""")


def pinned_torch(root: Path) -> Version | None:
    """The one version that the dependency files of the project's root pin; None: none, or several."""
    found = {
        (int(major or like_major), int(minor or like_minor))
        for text in _texts(root)
        for major, minor, like_major, like_minor in _EXACT.findall(text)
    }
    return found.pop() if len(found) == 1 else None


def oldest_torch(path: str, root: Path) -> Version | None:
    """The lowest version that the file's own folder names, or the dependency files around it allow; None: not said."""
    own = Path(path).parent
    if named := _NAMED.search(str(own.relative_to(root)) if own.is_relative_to(root) else ""):
        return int(named[1]), int(named[2])
    for folder in (own, *own.parents):
        if found := [version for text in _texts(folder) for version in _pins(text)]:
            return min(found)
        if folder == root:
            break
    return None


def _texts(folder: Path) -> Iterator[str]:
    """The dependency files of a folder."""
    for pattern in _FILES:
        for file in folder.glob(pattern):
            try:
                text = read(file)[: BUDGET.pins_bytes].decode("utf-8", "replace")
            except OSError:
                continue
            yield _BLANKS.sub(" ", text)  # a long run of blanks would be tried at each length by the expressions above


def _pins(text: str) -> list[Version]:
    return [(int(major), int(minor)) for major, minor in _PIN.findall(text)]
