"""Characters in brackets, as the patterns of ``.gitignore`` files have them."""

from __future__ import annotations

import re

_CLASSES = {
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
        if named[1] not in _CLASSES:
            raise ValueError(f"there is no class {named[1]!r}")
        return _CLASSES[named[1]], named.end()
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
