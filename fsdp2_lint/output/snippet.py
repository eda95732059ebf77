"""Source lines with underlined spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsdp2_lint.files.source import Sources
from fsdp2_lint.output.terminal import NARROWEST, Paint, cells, clean, fitted
from fsdp2_lint.vocab.finding import Label

MAX_WIDTH = 200
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Mark:
    """A label, the sign that underlines it and its colour."""

    label: Label
    sign: str
    style: str


def snippet(
    marks: Sequence[Mark], sources: Sources, gutter: int, paint: Paint, width: int | None = None
) -> Iterator[str]:
    """The lines of one file that carry marks, in the order of the file. ``width`` is that of the terminal."""
    room = None if width is None else max(width, NARROWEST) - gutter - len(" | ")
    bar = paint(" " * (gutter + 1) + "|", "blue")
    yield bar
    shown = 0
    for row in sorted({mark.label.site.row for mark in marks}):
        if shown and row > shown + 1:
            yield paint("." * max(3, gutter), "blue")
        shown = row
        here = sorted((mark for mark in marks if mark.label.site.row == row), key=lambda mark: mark.label.site.column)
        source = sources.at(here[0].label.site)
        if source is None:  # the file changed or went away since it was checked
            for mark in here:
                yield f"{bar} {paint(clean(mark.label.message), mark.style)}"
            continue
        line = cells(source.rstrip())
        spans = [_span(mark.label, len(line)) for mark in here]
        first, last = _window(line, spans, MAX_WIDTH if room is None else min(room - 2 * len(_CUT), MAX_WIDTH))
        before, after = _CUT * (first > 0), _CUT * (last < len(line))
        text = before + "".join(char for char, _ in line[first:last]) + after
        yield f"{paint(f'{row:>{gutter}} |', 'blue')} {text}".rstrip()
        for mark, (start, end) in zip(here, spans):
            start = min(start, last)  # beyond the cut: point at the cut
            indent = len(before) + sum(width for _, width in line[first:start])
            length = sum(width for _, width in line[start : min(end, last)])
            for blanks, words in _below(mark.sign * max(length, 1), clean(mark.label.message), indent, room):
                yield f"{bar} {' ' * blanks}{paint(words, mark.style)}"


def _below(underline: str, message: str, indent: int, room: int | None) -> Iterator[tuple[int, str]]:
    """What stands below a line of source, with the blanks before it. A message that is too long goes further down."""
    beside = f"{underline} {message}".rstrip()
    if room is None or indent + len(beside) <= room:
        yield indent, beside
        return
    yield indent, underline
    blanks = min(indent, room // 2)
    yield from ((blanks, line) for line in fitted(message, room - blanks, 0, 0))


def _span(label: Label, length: int) -> tuple[int, int]:
    """Characters of the first line, from 0: start, and end exclusive."""
    site = label.site
    start = min(max(site.column - 1, 0), length)
    if site.end_row > site.row:
        end = length
    elif site.end_row == site.row:
        end = min(site.end_column - 1, length)
    else:
        end = start + 1
    return start, max(end, start + 1)


def _window(line: Sequence[tuple[str, int]], spans: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
    """Which characters to show. A line that is too long is cut behind its spans, or else around the first one."""
    if sum(width for _, width in line) <= most:
        return 0, len(line)
    behind = max(end for _, end in spans)
    first = 0
    if sum(width for _, width in line[:behind]) > most:
        first = max(min(start for start, _ in spans) - most // 4, 0)
    last, width = first, 0
    while last < len(line) and width + line[last][1] <= most:
        width += line[last][1]
        last += 1
    return first, last
