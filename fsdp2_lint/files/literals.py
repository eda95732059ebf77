"""Where strings and comments are in a text, by the rules of the newest Python: f-strings may hold any expression.

Python's own tokenizer reads them by the rules of its version (https://peps.python.org/pep-0701/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OPENING = re.compile(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"\w+|[^\w'\"#()\[\]{}:!]+")
_TEXT = re.compile(r"[^\\{}'\"\r\n]+")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
MAX_OPEN = 200  # as in Python's own tokenizer
_PREFIXES = frozenset({"", "r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt"})


class Unfinished(Exception):
    """A string, a bracket or a field does not end: no Python can read that."""


@dataclass(slots=True)
class Part:
    """An expression in an f-string: where it stands, and the strings and comments in it."""

    start: int
    end: int = 0
    literals: list[Literal] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Literal:
    """``start`` is that of the prefix, ``end`` is behind the last quote. ``parts`` are of f- and t-strings only."""

    start: int
    prefix: str
    quote: str
    end: int = 0
    parts: list[Part] = field(default_factory=list)

    @property
    def body(self) -> int:
        return self.start + len(self.prefix) + len(self.quote)

    def all(self) -> Iterator[Literal]:
        """It, and those inside."""
        yield self
        for part in self.parts:
            for literal in part.literals:
                yield from literal.all()


def scan(text: str) -> Part:
    """The whole text as one part. :class:`Unfinished` if it is cut off inside something."""
    scanner = _Scanner(text)
    return scanner.code(Part(0), inside=False)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def here(self) -> str:
        if self.at >= len(self.text):
            raise Unfinished
        return self.text[self.at]

    def code(self, part: Part, *, inside: bool) -> Part:
        """Up to the end, or inside a string up to what ends its expression."""
        open_brackets: list[str] = []
        while self.at < len(self.text) or inside:
            sign = self.here()
            if (
                inside
                and not open_brackets
                and (sign in "}:" or sign == "!" and not self.text.startswith("!=", self.at))
            ):
                break
            if sign == "#":
                self.comment(part)
            elif (opening := _OPENING.match(self.text, self.at)) and opening[1].lower() in _PREFIXES:
                part.literals.append(self.literal(opening))
            elif plain := _PLAIN.match(self.text, self.at):
                self.at = plain.end()
            else:
                self.bracket(sign, open_brackets)
                self.at += 2 if sign == "!" else 1
        if open_brackets:
            raise Unfinished
        part.end = self.at
        return part

    @staticmethod
    def bracket(sign: str, open_brackets: list[str]) -> None:
        if sign in _CLOSING:
            open_brackets.append(_CLOSING[sign])
        elif sign in ")]}" and (not open_brackets or open_brackets.pop() != sign):
            raise Unfinished
        if len(open_brackets) > MAX_OPEN:
            raise Unfinished

    def comment(self, part: Part) -> None:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in "\r\n":
            self.at += 1
        part.comments.append((start, self.at))

    def literal(self, opening: re.Match[str]) -> Literal:
        found = Literal(self.at, opening[1], opening[2])
        self.at = opening.end()
        while not self.text.startswith(found.quote, self.at):
            self.character(found)
        self.at += len(found.quote)
        found.end = self.at
        return found

    def character(self, found: Literal) -> None:
        if run := _TEXT.match(self.text, self.at):
            self.at = run.end()
            return
        sign, raw = self.here(), "r" in found.prefix.lower()
        formatted = found.prefix.lower().strip("r") in ("f", "t")
        if sign in "\r\n" and len(found.quote) == 1:
            raise Unfinished
        if sign == "\\":
            self.escape(formatted, raw)
        elif formatted and sign in "{}":
            self.brace(sign, found)
        else:
            self.at += 1

    def escape(self, formatted: bool, raw: bool) -> None:
        if formatted and not raw and self.text.startswith("\\N{", self.at):
            self.at = self.text.find("}", self.at) + 1 or len(self.text)
        elif formatted and self.text[self.at + 1 : self.at + 2] in ("{", "}"):
            self.at += 1  # which is no escape
        else:
            self.at += 3 if self.text.startswith("\\\r\n", self.at) else 2

    def brace(self, sign: str, found: Literal) -> None:
        if self.text.startswith(sign * 2, self.at):
            self.at += 2
        elif sign == "{":
            self.replacement(found)
        else:
            raise Unfinished

    def replacement(self, found: Literal) -> None:
        """``{expression!r:format}``"""
        self.at += 1
        found.parts.append(self.code(Part(self.at), inside=True))
        if self.here() == "!":
            self.at += 1
            word = _WORD.match(self.text, self.at)
            self.at = word.end() if word else self.at
        if self.here() == ":":
            self.at += 1
            while self.here() != "}":
                if self.text.startswith(found.quote, self.at):
                    raise Unfinished
                if self.here() == "{":
                    self.replacement(found)
                else:
                    self.at += 1
        if self.here() != "}":
            raise Unfinished
        self.at += 1
