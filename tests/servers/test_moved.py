"""What was told of a text, in what became of it."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol")

from lsprotocol.types import Diagnostic, DiagnosticRelatedInformation, Location, Position, Range

from fsdp2_lint.servers.moved import change, still

OLD = "a\nb\nc\nd\n"


def line(number: int) -> Range:
    return Range(Position(number, 0), Position(number, 1))


@pytest.mark.parametrize(
    ("new", "stands"),
    [
        (OLD, [0, 1, 2, 3]),
        ("new\na\nb\nc\nd\n", [1, 2, 3, 4]),
        ("a\nb\nnew\nnew\nc\nd\n", [0, 1, 4, 5]),
        ("a\nc\nd\n", [0, None, 1, 2]),
        ("a\nB\nc\nd\n", [0, None, 2, 3]),
        ("a\r\nb\r\nc\r\nd\r\n", [0, 1, 2, 3]),
        ("a\na\nb\nb\nc\nd\n", [0, 3, 4, 5]),
        ("", [None, None, None, None]),
    ],
)
def test_a_line_is_where_it_was_unless_it_was_changed(new: str, stands: list[int | None]) -> None:
    since = change(OLD, new)
    moved = [since.moved(line(number)) for number in range(4)]
    assert [place.start.line if place is not None else None for place in moved] == stands


def test_places_of_its_story_move_and_those_of_other_files_stay() -> None:
    here, there = "file:///x.py", "file:///y.py"
    story = [
        DiagnosticRelatedInformation(Location(here, line(3)), "here"),
        DiagnosticRelatedInformation(Location(here, line(1)), "in what was changed"),
        DiagnosticRelatedInformation(Location(there, line(3)), "there"),
    ]
    told = [Diagnostic(line(2), "two", related_information=story), Diagnostic(line(1), "one")]
    (left,) = still(told, here, change(OLD, "a\nB\nB\nc\nd\n"))
    assert (left.message, left.range) == ("two", line(3))
    assert [(each.message, each.location.range.start.line) for each in left.related_information or ()] == [
        ("here", 4),
        ("there", 3),
    ]
    assert told[0].range == line(2), "what was told before is not touched"
