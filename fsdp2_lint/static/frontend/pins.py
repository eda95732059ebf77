"""Which torch, and which transformers, a project says it runs on, read off its dependency files as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
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

# A dependency on transformers, as a requirement or as a line of Poetry's, and what it says of versions.
_TRANSFORMERS = re.compile(
    r"""(?<![\w./-])transformers(?![\w./-])(?:\[[^\]]*\])?(?:["']?\s*[=:]\s*(?:\{[^}]*?version\s*=\s*)?["'])?\s*\(?\s*"""
    r"""((?:(?:[<>=!~]=|[<>^])\s*\d[\w.*]*\s*,?\s*)*)"""
)
_FIFTH = 5
_BOUND = re.compile(r"(==|~=|\^|<=|<)\s*(\d+)([\d.]*)")


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


def transformers_before_5(path: str, root: Path) -> bool:
    """Do the dependency files around the file allow no transformers but those before 5?"""
    for folder in Path(path).parents:
        if said := [found for text in _texts(folder) if (found := _TRANSFORMERS.findall(text))]:
            return all(any(specs) and all(map(_is_before_5, filter(None, specs))) for specs in said)
        if folder == root:
            break
    return False


def _is_before_5(specifiers: str) -> bool:
    return any(
        int(major) < _FIFTH or operator == "<" and int(major) == _FIFTH and not rest.strip(".0")
        for operator, major, rest in _BOUND.findall(specifiers)
    )


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


# What is asked of the dependency files around a file, by the word for the question.
PINS: Mapping[str, Callable[[str, Path], object]] = {"oldest": oldest_torch, "before_5": transformers_before_5}
