"""Syntax that is newer than the Python which runs the tool: told from what no Python can read, and read if possible.

Each feature is rewritten in what older Pythons have, in the same rows and, but for a blank or two, in the same columns.
What can be parsed then was newer syntax. Rewritten text that means the same for models, ranks and collectives is
analysed; the rest is code that is not seen.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fsdp2_lint.files.literals import Literal, Part, Unfinished, scan
from fsdp2_lint.files.parsing import parsed
from fsdp2_lint.files.source import decode

Version = tuple[int, int]
Edit = tuple[int, int, str]
"""Start and end in the text, and what comes there."""

_BEGIN = r"(?:^|[:;])[ \t\f]*"  # of a statement
_GENERIC = re.compile(rf"{_BEGIN}(?:async[ \t]+)?(?:def|class|type)[ \t]+(\w+)[ \t]*\[", re.MULTILINE)
_ALIAS = re.compile(rf"{_BEGIN}(type)([ \t])[ \t]*([^\W\d]\w*)(?:[ \t]|\\[\r\n]+)*=(?!=)", re.MULTILINE)
_ALIAS_BEGIN = re.compile(rf"{_BEGIN}type[ \t]+\w", re.MULTILINE)
_TEMPLATE = re.compile(r"\b(?:t|tr|rt)['\"]", re.IGNORECASE)
_FORMATTED = re.compile(r"\b(?:f|fr|rf)['\"]", re.IGNORECASE)
_LAZY = re.compile(rf"{_BEGIN}(lazy)([ \t])[ \t]*(?:from|import)\b", re.MULTILINE)
_EXCEPT = re.compile(r"^[ \t\f]*except\b(?!\*)(?=[^\n]*,)", re.MULTILINE)
_EXCEPT_STAR = re.compile(r"^[ \t\f]*except[ \t]*(\*)", re.MULTILINE)
_STARRED = re.compile(r"[\[({][ \t]*(\*\*?)(?=[ \t]*[\w(\[{])")
_INDEX = re.compile(r"(?<=[\w\])}])\[[ \t]*(\*)(?!\*)(?=[ \t]*[\w(\[])")
_PARAMETER = re.compile(r"\s*(\*{0,2})\s*([^\W\d]\w*)\s*(:(?!=)[^=]+)?\s*(=.+)?\s*\Z", re.DOTALL)
_LONGEST = 1 + max(map(len, keyword.kwlist))


@dataclass(frozen=True, slots=True)
class Reading:
    """``python`` can parse the file. ``text`` is what this one can parse in its place; is it the ``same`` program?"""

    python: Version
    text: str
    same: bool


@dataclass(frozen=True, slots=True)
class Feature:
    """``edits`` says what to change, from the text and where strings are in it. A text without ``hint`` has nothing."""

    since: Version
    hint: re.Pattern[str]
    edits: Callable[[str, Part], Iterator[Edit]]
    same: bool


def reading(data: bytes, running: Version = sys.version_info[:2]) -> Reading | None:
    """Of a file that the Python ``running`` cannot parse; None if none of those that are known can."""
    try:
        text = decode(data).removeprefix("\ufeff")
        needs, same = (0, 0), True
        for feature in FEATURES:
            there = feature.since > running and feature.hint.search(text)
            found = list(feature.edits(text, scan(text))) if there else []
            if found:
                needs, same, text = max(needs, feature.since), same and feature.same, _edited(text, found)
    except (Unfinished, RecursionError):
        return None
    return Reading(needs, text, same) if needs > running and _parses(text) else None


def _edited(text: str, edits: Iterable[Edit]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _within(text: str, place: tuple[int, int], edits: Iterable[Edit]) -> str:
    """A stretch of the text as the edits have it."""
    return _edited(text[slice(*place)], [(start - place[0], end - place[0], new) for start, end, new in edits])


def _in_code(edits: Callable[[str, str], Iterator[Edit]]) -> Callable[[str, Part], Iterator[Edit]]:
    """For what looks at the text without comments, and at the same text with its strings blanked out too."""

    def found(text: str, whole: Part) -> Iterator[Edit]:
        text = _blanked(text, whole.comments, " ")
        return edits(text, _blanked(text, [(each.start, each.end) for each in whole.literals], "_"))

    return found


def _blanked(text: str, places: Sequence[tuple[int, int]], filler: str) -> str:
    signs = list(text)
    for start, end in places:
        for at in range(start, end):
            signs[at] = signs[at] if signs[at] in "\r\n" else filler
    return "".join(signs)


def _parses(text: str, mode: str = "exec") -> bool:
    try:
        parsed(text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# -- statements -------------------------------------------------------------------


def _until(ends: str, blank: str, start: int) -> tuple[int, str]:
    """Where one of the signs stands outside of brackets, and what is before it, without what brackets hold."""
    depth, flat = 0, list[str]()
    for at in range(start, len(blank)):
        sign = blank[at]
        if not depth and sign in ends:
            return at, "".join(flat)
        flat.append(" " if depth or sign in "([{" else sign)
        depth += (sign in "([{") - (sign in ")]}")
    raise Unfinished


def _parameters(text: str, blank: str) -> Iterator[tuple[int, int, list[str]]]:
    """The lists of type parameters: ``def f[T: Base, *Ts](...)``."""
    for match in _GENERIC.finditer(blank):
        start = match.end() - 1
        end, flat = _until("]", blank, match.end())
        commas = [match.end() + at for at, sign in enumerate(flat) if sign == ","]
        cuts = [start, *commas, end]
        given = [text[cut + 1 : cuts[at + 1]] for at, cut in enumerate(cuts[:-1])]
        if commas and not given[-1].strip():
            given.pop()
        if all(map(_is_parameter, given)):
            yield start, end + 1, given


def _is_parameter(given: str) -> bool:
    match = _PARAMETER.match(given)
    if match is None or keyword.iskeyword(match[2]) or match[1] and match[3]:
        return False
    values = [value[1:].strip() for value in (match[3], match[4]) if value]
    return all(value and _parses(f"({value.removeprefix('*')}\n)", "eval") for value in values)


def _generic(text: str, blank: str) -> Iterator[Edit]:
    for start, end, _ in _parameters(text, blank):
        # The rows that it took have to be joined: a backslash at the end of a row moves nothing.
        rows = re.sub(r"[^\r\n]", " ", text[start:end])
        yield start, end, re.sub(r" ?(\r\n|\r|\n)", r"\\\1", rows)


def _generic_with_defaults(text: str, blank: str) -> Iterator[Edit]:
    defaults = {
        start
        for start, _, given in _parameters(text, blank)
        if any((match := _PARAMETER.match(each)) and match[4] for each in given)
    }
    yield from (edit for edit in _generic(text, blank) if edit[0] in defaults)


def _first_word(pattern: re.Pattern[str]) -> Callable[[str, str], Iterator[Edit]]:
    """``type X = ...`` as ``None;X = ...``: an assignment in the same columns, and so for ``lazy import``."""

    def edits(text: str, blank: str) -> Iterator[Edit]:
        for match in pattern.finditer(blank):
            _, value = _until(";\r\n", blank + "\n", match.end())
            if "," not in value or pattern is _LAZY:
                yield match.start(1), match.end(2), "None;"

    return edits


def _without_brackets(text: str, blank: str) -> Iterator[Edit]:
    """``except A, B:`` as ``except(A,B):``."""
    for match in _EXCEPT.finditer(blank):
        end, flat = _until(":\r\n", blank, match.end())
        inner = text[match.end() : end].strip()
        if "," in flat and not re.search(r"\bas\b", flat):
            new = f"({inner})"
            new = new if len(new) <= end - match.end() else new.replace(", ", ",", 1)
            yield match.end(), end, new.ljust(end - match.end())


def _groups_of_exceptions(text: str, blank: str) -> Iterator[Edit]:
    for match in _EXCEPT_STAR.finditer(blank):
        yield match.start(1), match.end(1), " "


def _starred_index(text: str, blank: str) -> Iterator[Edit]:
    """``x[*index]``"""
    for match in _INDEX.finditer(blank):
        before = blank[max(match.start() - _LONGEST, 0) : match.start()]
        if not keyword.iskeyword(re.split(r"\W", before)[-1]):
            yield match.start(1), match.end(1), " "


def _unpacked(text: str, blank: str) -> Iterator[Edit]:
    """``[*each for each in lists]``, ``{**each for each in dicts}``"""
    for match in _STARRED.finditer(blank):
        _, flat = _until(")]}", blank, match.end())
        fits = len(match[1]) == 1 or blank[match.start()] == "{"
        if fits and "," not in flat and re.search(r"\bfor\b", flat):
            yield match.start(1), match.end(1), " " * len(match[1])


# -- strings ----------------------------------------------------------------------


def _templates(text: str, whole: Part) -> Iterator[Edit]:
    """A t-string has the expressions of an f-string, and is another object."""
    for each in (inner for outer in whole.literals for inner in outer.all()):
        if "t" in each.prefix.lower():
            yield each.start, each.start + len(each.prefix), each.prefix.lower().replace("t", "f")


def _requoted(text: str, whole: Part) -> Iterator[Edit]:
    """Other quotes for the strings inside, and an unknown for a text with a backslash."""
    for literal in whole.literals:
        if _is_free(text, literal):
            edits = [_older(text, each, literal.quote) for part in literal.parts for each in part.literals]
            new = _within(text, (literal.start, literal.end), edits)
            if not _is_free(new, scan(new).literals[0]):
                yield literal.start, literal.end, new


def _older(text: str, literal: Literal, around: str) -> Edit:
    """A string in an f-string, as wide as it was, by the rules of 3.11. It stays if there is none such."""
    body = text[literal.body : literal.end - len(literal.quote)]
    other = "'" if around[0] == '"' else '"'
    if len(literal.quote) == 1 and not set(body) & {"'", '"', "\\"}:
        return literal.start, literal.end, f"{literal.prefix}{other}{body}{other}"
    if not literal.parts and not set(body) & {"\r", "\n"} and _parses(text[literal.start : literal.end], "eval"):
        return literal.start, literal.end, "_" * (literal.end - literal.start)  # the name of nothing
    return literal.start, literal.start, ""


def _is_free(text: str, literal: Literal) -> bool:
    """Has an f-string what they may hold since 3.12: its own quotes, a backslash, a comment, more rows?"""
    for part in literal.parts:
        held = text[part.start : part.end]
        rows = len(literal.quote) == 1 and bool(set(held) & {"\r", "\n"})
        if rows or part.comments or "\\" in held or literal.quote in held:
            return True
        if any(_is_free(text, each) for each in part.literals):
            return True
    return False


def _hidden(text: str, whole: Part) -> Iterator[Edit]:
    """Any value in place of an f-string that older Pythons cannot have in its rows and columns."""
    for literal in whole.literals:
        if _is_free(text, literal):
            yield literal.start, literal.end, _any_value(text, literal)


def _any_value(text: str, literal: Literal) -> str:
    """:class:`Unfinished` if the string holds what is no expression."""
    if not literal.parts and not _parses(text[literal.start : literal.end], "eval"):
        raise Unfinished
    for part in literal.parts:
        inner = [(each.start, each.end, _any_value(text, each)) for each in part.literals]
        inner += [(start, end, "") for start, end in part.comments]
        held = _within(text, (part.start, part.end), inner).strip()
        held = re.sub(r"(?<![=!<>])=\Z", "", held)  # {x=}
        if not held or not _parses(f"({held}\n)", "eval"):
            raise Unfinished
    return "(0)"


FEATURES = (
    Feature((3, 14), _TEMPLATE, _templates, same=False),
    Feature((3, 12), _FORMATTED, _requoted, same=True),
    Feature((3, 12), _FORMATTED, _hidden, same=False),
    Feature((3, 11), _EXCEPT_STAR, _in_code(_groups_of_exceptions), same=False),
    Feature((3, 11), _INDEX, _in_code(_starred_index), same=False),
    Feature((3, 13), _GENERIC, _in_code(_generic_with_defaults), same=True),
    Feature((3, 12), _GENERIC, _in_code(_generic), same=True),  # what a parameter stands for is nothing at run time
    Feature((3, 12), _ALIAS_BEGIN, _in_code(_first_word(_ALIAS)), same=True),
    Feature((3, 14), _EXCEPT, _in_code(_without_brackets), same=True),
    Feature((3, 15), _STARRED, _in_code(_unpacked), same=False),
    Feature((3, 15), _LAZY, _in_code(_first_word(_LAZY)), same=True),
)
