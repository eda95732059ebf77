"""Where what was told of a text stands in the text that somebody made of it since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import takewhile

from lsprotocol import types

_END_OF_LINE = re.compile(r"\r\n|\r|\n")  # as the protocol counts lines


@dataclass(frozen=True, slots=True)
class Change:
    """Lines from ``start`` up to ``end`` of the old text are others now, and what comes behind them is ``by`` lower."""

    start: int
    end: int
    by: int

    def moved(self, place: types.Range) -> types.Range | None:
        """None for what touches a line that was changed: nobody knows what is there now."""
        if place.end.line < self.start:
            return place
        if place.start.line < self.end:
            return None
        start, end = place.start, place.end
        return types.Range(
            types.Position(start.line + self.by, start.character), types.Position(end.line + self.by, end.character)
        )


def change(old: str, new: str) -> Change:
    before, after = _END_OF_LINE.split(old), _END_OF_LINE.split(new)
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    return Change(start, len(before) - end, len(after) - len(before))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines they have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


def still(diagnostics: Iterable[types.Diagnostic], uri: str, since: Change) -> list[types.Diagnostic]:
    """What was told of a document and is not touched by the change."""
    found = []
    for each in diagnostics:
        if (place := since.moved(each.range)) is not None:
            found.append(told := copy(each))
            told.range, told.related_information = place, [*_related(each, uri, since)]
    return found


def _related(diagnostic: types.Diagnostic, uri: str, since: Change) -> Iterable[types.DiagnosticRelatedInformation]:
    for each in diagnostic.related_information or ():
        if each.location.uri != uri:
            yield each
        elif (place := since.moved(each.location.range)) is not None:
            yield types.DiagnosticRelatedInformation(types.Location(uri, place), each.message)
