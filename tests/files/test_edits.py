"""Edits at once are edits one by one, and leave every other byte as it is."""

from __future__ import annotations

import codecs
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.files.edits import Span, Text, overlap
from fsdp2_lint.vocab.finding import Edit, Site

PATH = "a.py"
ALPHABETS = {"utf-8": "ab #'\t\f\x0b\x85\u2028äß𝄞", "utf-8-sig": "ab #'ä𝄞", "latin-1": "ab #'\t\f\x85äß"}
NEWLINES = ("\n", "\r\n", "\r")


@st.composite
def edited_files(draw: st.DrawFn) -> tuple[str, str, list[str], list[Edit]]:
    """Encoding, newline, the lines of a file, and edits that do not overlap, in order.

    The first line stays: it says the encoding, which Python reads up to the first line feed, and its end is the newline
    of new text.
    """
    encoding = draw(st.sampled_from(sorted(ALPHABETS)))
    newline = draw(st.sampled_from(NEWLINES[:2] if encoding == "latin-1" else NEWLINES))
    words = st.text(ALPHABETS[encoding], max_size=6)
    lines = [f"# coding: {encoding.removesuffix('-sig')}", *draw(st.lists(words, min_size=1, max_size=5))]
    places = [(row, column) for row, line in enumerate(lines[1:], start=2) for column in range(1, len(line) + 2)]
    chosen = sorted(draw(st.lists(st.sampled_from(places), max_size=8, unique=True)))
    edits = []
    for start, end in pairwise(chosen):
        kind = draw(st.sampled_from(["skip", "insert", "replace"]))
        if kind != "skip" and not (edits and _end(edits[-1]) > start):
            site = Site(PATH, *start, *(end if kind == "replace" else start))
            edits.append(Edit(site, "\n".join(draw(st.lists(words, max_size=3)))))
    return encoding, newline, lines, edits


def _end(edit: Edit) -> tuple[int, int]:
    return edit.site.end_row, edit.site.end_column


def expected(encoding: str, newline: str, lines: list[str], edits: list[Edit]) -> bytes:
    """Put together from pieces of lines."""
    pieces, row, column = [], 1, 1

    def upto(end_row: int, end_column: int) -> str:
        if row == end_row:
            return lines[row - 1][column - 1 : end_column - 1]
        between = [lines[row - 1][column - 1 :], *lines[row : end_row - 1], lines[end_row - 1][: end_column - 1]]
        return newline.join(between)

    for edit in edits:
        pieces += [upto(edit.site.row, edit.site.column), edit.text.replace("\n", newline)]
        row, column = _end(edit)
    pieces.append(upto(len(lines), len(lines[-1]) + 1))
    return "".join(pieces).encode(encoding)


@given(edited_files())
def test_all_at_once_or_one_by_one(case: tuple[str, str, list[str], list[Edit]]) -> None:
    encoding, newline, lines, edits = case
    data = newline.join(lines).encode(encoding)
    whole = Text(data).edited(edits)
    one_by_one = data
    for edit in reversed(edits):
        one_by_one = Text(one_by_one).edited([edit])
    assert whole == Text(data).edited(edits[::-1]) == one_by_one == expected(encoding, newline, lines, edits)


@given(edited_files())
def test_spans_that_follow_each_other_do_not_overlap(case: tuple[str, str, list[str], list[Edit]]) -> None:
    encoding, newline, lines, edits = case
    text = Text(newline.join(lines).encode(encoding))
    spans = [text.span(edit.site) for edit in edits]
    assert not any(overlap([one], spans[:at]) for at, one in enumerate(spans))


@st.composite
def spans(draw: st.DrawFn) -> Span:
    start = draw(st.integers(0, 6))
    return start, start + draw(st.integers(0, 3))


@given(spans(), spans())
def test_overlap_is_mutual(one: Span, other: Span) -> None:
    shared = set(range(*one)) & set(range(*other))
    inside = any(start < at < end for (at, stop), (start, end) in ((one, other), (other, one)) if at == stop)
    assert overlap([one], [other]) is overlap([other], [one]) is bool(shared or inside or one[0] == other[0])


@pytest.mark.parametrize("data", [b"", b"\n", codecs.BOM_UTF8, b"a\n", b"a", b"\r\n\r\n", codecs.BOM_UTF8 + b"a\r"])
def test_no_edits(data: bytes) -> None:
    assert Text(data).edited([]) == data


@pytest.mark.parametrize(
    "data",
    ["# coding: latin-1\nä\n".encode("latin-1"), b"# coding: utf-7\n'+AGE-'\n", b"# coding: utf-8\n\xff\n"],
    ids=["text that it cannot write", "a text that it writes in another way", "bytes that are no text"],
)
def test_an_encoding_that_cannot_write_the_result(data: bytes) -> None:
    with pytest.raises(ValueError):
        Text(data).edited([Edit(Site(PATH, 2, 1, 2, 1), "𝄞")])


def test_a_place_behind_the_end_is_the_end() -> None:
    assert Text(b"a").edited([Edit(Site(PATH, 9, 9, 9, 9), "\nb")]) == b"a\nb"
