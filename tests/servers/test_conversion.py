"""Places of findings as places of editors."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls")

from lsprotocol import types
from pygls.workspace import PositionCodec

from fsdp2_lint.files.source import Sources
from fsdp2_lint.servers.conversion import Conversion
from fsdp2_lint.servers.documents import as_bytes
from fsdp2_lint.vocab.finding import Finding, Label, Severity, Site
from tests.servers.editor import edited


def conversion(text: str, encoding: str = "utf-16") -> Conversion:
    return Conversion(Sources({"/a.py": text.encode()}), PositionCodec(encoding), lambda path: f"file://{path}")


def span(made: types.Range) -> tuple[int, int, int, int]:
    return made.start.line, made.start.character, made.end.line, made.end.character


@pytest.mark.parametrize(
    ("encoding", "start", "end"),
    [("utf-16", 7, 10), ("utf-8", 9, 14), ("utf-32", 6, 8)],
)
def test_characters_beyond_the_basic_plane(encoding: str, start: int, end: int) -> None:
    text = 'x\ny = "👩"🔥ä\n'
    assert span(conversion(text, encoding).range(Site("/a.py", 2, 7, 2, 9))) == (1, start, 1, end)


def test_a_place_without_an_end_goes_to_the_end_of_its_line() -> None:
    assert span(conversion("a = 🔥b\nc\n").range(Site("/a.py", 1, 5))) == (0, 4, 0, 7)


def test_rows_are_those_of_python() -> None:
    """A form feed ends no line, and neither does a line separator of Unicode."""
    text = "a\x0cb\u2028c = 1\r\nd = 2\n"
    assert span(conversion(text).range(Site("/a.py", 2, 1, 2, 2))) == (1, 0, 1, 1)


def test_a_place_beyond_the_text_is_no_error() -> None:
    assert span(conversion("a").range(Site("/a.py", 9, 9, 9, 12))) == (8, 0, 8, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nc\n"),
        ("a\r\nb", "a\r\n🔥\r\nb"),
        ("a\n🔥b", "a\nc"),
        ("a", "a\nb\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("a\x0cb\nc\n", "a\x0cb\nd\n"),
    ],
)
def test_edits_make_the_new_text(before: str, after: str) -> None:
    if "\x0c" not in before:  # which the stand-in for an editor takes for the end of a line
        assert edited(before, conversion(before).edits(before.encode(), after.encode())) == after
    (edit,) = conversion(before).edits(before.encode(), after.encode())
    assert edit.range.end.line <= before.count("\n")


def test_severities_tags_and_cells() -> None:
    told = Finding(
        code="FSDP001",
        name="unused-suppression",
        severity=Severity.INFO,
        message="m",
        primary=Label(Site("/a.ipynb", 2, 1, 2, 3, cell=4), ""),
        help="h",
        related=(Label(Site("/a.py", 1, 1, 1, 2), "r"),),
    )
    made = conversion("x\n").diagnostic(told)
    assert made.tags == [types.DiagnosticTag.Unnecessary] and made.severity == types.DiagnosticSeverity.Information
    assert made.message == "cell 4, row 2: m" and span(made.range) == (0, 0, 0, 0)
    (related,) = made.related_information or ()
    assert related.location == types.Location("file:///a.py", types.Range(types.Position(0, 0), types.Position(0, 1)))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("x = 'ä'\n", "x = 'ä'\n".encode()),
        ("# coding: latin-1\nx = 'ä'\n", "# coding: latin-1\nx = 'ä'\n".encode("latin-1")),
        ("# coding: latin-1\nx = '🔥'\n", b"# coding: latin-1\nx = '?'\n"),
        ("# coding: nothing\nx = 'ä'\n", "# coding: nothing\nx = 'ä'\n".encode()),
        ("\ufeffx\n", b"\xef\xbb\xbfx\n"),
    ],
)
def test_buffers_are_encoded_as_they_would_be_saved(text: str, data: bytes) -> None:
    assert as_bytes(text) == data
