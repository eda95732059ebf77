"""The patterns of ``.gitignore`` files, as https://git-scm.com/docs/gitignore has them.

They are matched here and not by one expression for a whole pattern: what takes a second for ten asterisks takes a year
for thirty, and a repository brings its own patterns. What a pattern costs grows with its length times the path's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

# -- characters in brackets, as the patterns of ``.gitignore`` files have them
CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_NAMED = re.compile(r"\[:([^\]]*):\]")
_NOTHING = "(?!)"


def bracket(pattern: str, at: int) -> tuple[str, int]:
    """The expression for the characters from ``at`` on, and where the next ones begin.

    ValueError where the bracket is not closed or names a class that does not exist: git takes such a line for none.
    """
    others = pattern.startswith(("!", "^"), at)
    at += others
    held, first = "", at
    while at == first or pattern[at : at + 1] != "]":
        each, at = _item(pattern, at)
        held += each
    if others:
        return f"[^/{held}]", at + 1
    return f"(?!/)[{held}]" if held else _NOTHING, at + 1


def _item(pattern: str, at: int) -> tuple[str, int]:
    if named := _NAMED.match(pattern, at):
        if named[1] not in CLASSES:
            raise ValueError(f"there is no class {named[1]!r}")
        return CLASSES[named[1]], named.end()
    low, at = _character(pattern, at)
    if pattern.startswith("-", at) and pattern[at + 1 : at + 2] not in ("", "]"):
        high, at = _character(pattern, at + 1)
        return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""), at
    return re.escape(low), at


def _character(pattern: str, at: int) -> tuple[str, int]:
    at += pattern.startswith("\\", at)
    if at >= len(pattern):
        raise ValueError("the bracket is not closed")
    return pattern[at], at + 1


Part = Callable[[str], object]  # does it fit one name?
_LONGEST = 1000  # no file system has names of so many characters
_NO_SPACE = re.compile(r"(?<!\\)[ ]+\Z")
_SPECIAL = re.compile(r"[*?\[\\/]")


class Lines:
    """The lines of one file, for paths relative to its folder."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [made for line in lines if (made := _compiled(line)) is not None]
        self._lines.reverse()

    def say(self, path: str, *, folder: bool) -> bool | None:
        """Is the path itself, with ``/`` between its parts, left out? None if no line speaks of it.

        The last line that fits decides, as in git.
        """
        names = path.split("/")
        return next((line.leaves_out for line in self._lines if line.fits(names, folder)), None)


class _Line:
    def __init__(self, pattern: str) -> None:
        self.leaves_out = not pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        self._of_folders = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        self._of_names = "/" not in pattern
        self._blocks = _blocks([*_parts(pattern.removeprefix("/"))])

    def fits(self, names: Sequence[str], folder: bool) -> bool:
        if self._of_folders and not folder:
            return False
        return _fit(self._blocks, names[-1:] if self._of_names else names)


def _compiled(line: str) -> _Line | None:
    """None for a line that says nothing, or that git would not understand either."""
    line = line.removesuffix("\r")
    line = _NO_SPACE.sub("", line) if line.endswith(" ") else line
    if not line.strip() or line.startswith("#"):
        return None
    try:
        return _Line(line)
    except ValueError:
        return None


def _fit(blocks: Sequence[Sequence[Part]], names: Sequence[str]) -> bool:
    """Do the names consist of what fits the blocks, with any number of others between two of them?

    Each block between the first and the last takes the first place that it fits: a later one would leave less.
    """
    if len(blocks) == 1:
        return len(blocks[0]) == len(names) and _here(blocks[0], names, 0)
    first, *inner, last = blocks
    at, end = len(first), len(names) - len(last)
    if at > end or not _here(first, names, 0) or not _here(last, names, end):
        return False
    for block in inner:
        while at + len(block) <= end and not _here(block, names, at):
            at += 1
        at += len(block)
    return at <= end


def _here(block: Sequence[Part], names: Sequence[str], at: int) -> bool:
    return all(part(names[at + number]) for number, part in enumerate(block))


def _blocks(parts: Sequence[Part | None]) -> list[list[Part]]:
    """The parts between those that stand for any number of folders. At its end ``**`` means what is in the folder."""
    blocks: list[list[Part]] = [[]]
    for part in parts:
        if part is not None:
            blocks[-1].append(part)
        else:
            blocks.append([])
    if parts[-1] is None:
        blocks[-1].append(_anything)
    return blocks


def _anything(name: str) -> bool:
    return True


def _nothing(name: str) -> bool:
    return False


def _parts(pattern: str) -> Iterator[Part | None]:
    """What fits each name of a path; None for ``**``, alone in its name: that of ``a**`` is like one asterisk.

    ValueError for what never fits anything.
    """
    at = start = 0
    tokens: list[str | None] = []  # expressions for one character each, and None for an asterisk
    while at < len(pattern):
        if pattern[at] == "/" or pattern.startswith("\\/", at):
            yield _part(pattern[start:at], tuple(tokens))
            at = start = at + (1 if pattern[at] == "/" else 2)
            tokens = []
        else:
            token, at = _token(pattern, at)
            tokens.append(token)
    yield _part(pattern[start:], tuple(tokens))


def _token(pattern: str, at: int) -> tuple[str | None, int]:
    """The expression for what stands there, and where the next one begins."""
    char = pattern[at]
    if char == "*":
        return None, at + 1
    if char == "?":
        return "[^/]", at + 1
    if char == "[":
        return bracket(pattern, at + 1)
    if char == "\\":
        at += 1
        if at == len(pattern):
            raise ValueError("nothing is behind the backslash")
    return re.escape(pattern[at]), at + 1


@cache
def _part(text: str, tokens: tuple[str | None, ...]) -> Part | None:
    if len(tokens) > 1 and not any(tokens):
        return None
    if not _SPECIAL.search(text):
        return text.__eq__
    if len(tokens) - tokens.count(None) > _LONGEST:
        return _nothing
    return re.compile(_expression(tokens), re.DOTALL).fullmatch


def _expression(tokens: Sequence[str | None]) -> str:
    """Between two asterisks the first place that fits is taken and never given up: a later one would leave less.

    This is how Python's own ``fnmatch`` does it, for versions without atomic groups.
    """
    fixed: list[str] = [""]
    for token in tokens:
        if token is None:
            fixed.append("")
        else:
            fixed[-1] += token
    if len(fixed) == 1:
        return fixed[0]
    first, *inner, last = fixed
    taken = "".join(f"(?=(?P<g{number}>.*?{each}))(?P=g{number})" for number, each in enumerate(inner) if each)
    return f"{first}{taken}.*{last}"
