"""Edits change what they are to change, and their lines are known afterwards."""

from __future__ import annotations

import ast

import pytest

from fsdp2_lint.vocab.finding import Site
from tests.mutation.machine.text import Edit, Rows, Text, changed, row_after, written

PROGRAM = b"""\
def main(model, x):
    for block in model.blocks:
        shard(block)  # each
    shard(model)
    optimizer = make(
        model)
    loss = model(x); log(loss)
    save("\xc3\xa9", model)
"""


def text() -> Text:
    return Text("a.py", PROGRAM)


def site(row: int, words: str) -> Site:
    line = PROGRAM.split(b"\n")[row - 1]
    first = line.index(words.encode())
    return Site("a.py", row, first + 1, row, first + len(words.encode()) + 1)


def statement(row: int, words: str) -> ast.stmt:
    found = text().statement(site(row, words))
    assert found is not None
    return found


def lines(*edits: Edit) -> list[str]:
    return ["", *changed(PROGRAM, edits).decode().split("\n")]


def test_a_call_is_found_by_its_place_in_bytes() -> None:
    call = text().call(site(8, 'save("é", model)'))
    assert call is not None and text().words(call.args[1]) == "model"
    assert text().call(site(8, "save")) is None


def test_a_statement_that_shares_its_line_is_left_alone() -> None:
    assert text().statement(site(7, "model(x)")) is None
    assert text().statement(site(3, "shard(block)")) is not None, "a comment is no statement"


def test_a_statement_moves_with_all_of_its_lines() -> None:
    it = Text("a.py", PROGRAM)
    loop, shard = (it.statements(site(row, words))[-1] for row, words in ((3, "shard(block)"), (4, "shard(model)")))
    edits = it.moved(shard, loop)
    assert lines(*edits)[2:5] == ["    shard(model)", "    for block in model.blocks:", "        shard(block)  # each"]
    assert written(edits) == [Rows("a.py", 2, 2)]
    assert [row_after(edits, "a.py", row) for row in (1, 2, 3, 5, 8)] == [1, 3, 4, 5, 8]


def test_what_is_inserted_has_the_margin_of_its_place() -> None:
    before = text().before(statement(3, "shard(block)"), "one()", "two()")
    after = text().after(statement(3, "shard(block)"), "three()")
    assert lines(before, after)[3:7] == [
        "        one()",
        "        two()",
        "        shard(block)  # each",
        "        three()",
    ]
    assert written((before, after)) == [Rows("a.py", 3, 4), Rows("a.py", 6, 6)]
    assert [row_after((before, after), "a.py", row) for row in (2, 3, 4)] == [2, 5, 7]
    assert row_after((before, after), "b.py", 4) == 4


def test_a_guard_takes_the_whole_statement_in() -> None:
    guard = text().guarded(statement(4, "shard(model)"), "first")
    assert lines(guard)[4:6] == ["    if first:", "        shard(model)"]
    assert lines(text().blank(statement(4, "shard(model)")))[4] == "    pass"


def test_two_edits_of_one_text_are_refused() -> None:
    edits = (Edit("a.py", (4, 4), (4, 16), "x"), Edit("a.py", (4, 10), (4, 15), "y"))
    with pytest.raises(ValueError, match="two edits"):
        changed(PROGRAM, edits)


def test_what_does_not_parse_is_refused() -> None:
    with pytest.raises(SyntaxError):
        changed(PROGRAM, [Edit("a.py", (4, 4), (4, 16), "shard(")])
