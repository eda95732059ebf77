"""Unit tests of the planting operators."""

import textwrap
from typing import Any

import pytest

from tests.mutation.operators import map_line, plant

PROGRAM = textwrap.dedent("""\
    def main(model, x):
        optimizer = make(
            model,
        )
        for block in model.blocks:
            shard(block)
        shard(model)

        loss = model(
            self.model(x))
        if loss:
            save(model)
""")


def planted(**recipe: Any) -> list[str]:
    """Lines of the program after planting; index 0 is unused, so that indices are line numbers."""
    changed = plant({"a.py": PROGRAM, "b.py": ""}, {"file": "a.py", **recipe})
    assert list(changed) == ["a.py"]
    return ["", *changed["a.py"].split("\n")]


def where(at: int, /, **recipe: Any) -> set[int]:
    return map_line({"file": "a.py", **recipe}, "a.py", at)


def test_move_up_keeps_a_statement_whole() -> None:
    recipe: dict[str, Any] = {"operator": "move_before", "line": 5, "end_line": 6, "to": 2}
    lines = planted(**recipe)
    assert lines[2].strip() == "for block in model.blocks:"
    assert lines[4].strip() == "optimizer = make("
    assert [where(line, **recipe) for line in (1, 2, 5, 6, 7)] == [{1}, {4}, {2}, {3}, {7}]


def test_move_down_reindents() -> None:
    recipe: dict[str, Any] = {"operator": "move_before", "line": 2, "end_line": 4, "to": 12}
    lines = planted(**recipe)
    assert lines[9] == "        optimizer = make("
    assert lines[10] == "            model,"
    assert lines[12] == "        save(model)"
    assert [where(line, **recipe) for line in (2, 4, 5, 11, 12)] == [{9}, {11}, {2}, {8}, {12}]


def test_delete_leaves_pass() -> None:
    recipe: dict[str, Any] = {"operator": "delete", "line": 5, "end_line": 6}
    lines = planted(**recipe)
    assert lines[5:7] == ["    pass", "    shard(model)"]
    assert [where(line, **recipe) for line in (4, 5, 6, 7)] == [{4}, {5}, {5}, {6}]


def test_rank_guard_indents_the_block() -> None:
    recipe: dict[str, Any] = {"operator": "rank_guard", "line": 5, "end_line": 7, "expr": "rank == 0"}
    lines = planted(**recipe)
    assert lines[5:9] == [
        "    if rank == 0:",
        "        for block in model.blocks:",
        "            shard(block)",
        "        shard(model)",
    ]
    assert [where(line, **recipe) for line in (4, 5, 7, 9)] == [{4}, {5, 6}, {8}, {10}]
    assert 'environ["RANK"]' in planted(operator="rank_guard", line=7)[7]


def test_inserts_take_the_indentation_of_the_anchor() -> None:
    assert planted(operator="insert_before", line=12, expr="check()")[12] == "        check()"
    assert planted(operator="insert_after", line=2, end_line=4, expr="check()")[5] == "    check()"
    assert where(12, operator="insert_before", line=12) == {12, 13}
    assert where(2, operator="insert_after", line=2, end_line=4) == {2, 5}
    assert where(5, operator="insert_after", line=2, end_line=4) == {6}


def test_call_forward_finds_the_callee_inside_a_statement() -> None:
    assert planted(operator="call_forward", line=10, expr="self.model")[10].strip() == "self.model.forward(x))"
    assert planted(operator="call_forward", line=9, expr="model")[9].strip() == "loss = model.forward("
    with pytest.raises(ValueError, match="no call"):
        planted(operator="call_forward", line=7, expr="model")


def test_replacements() -> None:
    assert planted(operator="replace_line", line=2, end_line=4, expr="optimizer = None")[2:4] == [
        "    optimizer = None",
        "    for block in model.blocks:",
    ]
    assert planted(operator="replace_text", line=7, old="shard", new="wrap")[7] == "    wrap(model)"
    assert where(7, operator="replace_line", line=2, end_line=4) == {5}


@pytest.mark.parametrize(
    "recipe",
    [
        {"operator": "delete", "line": 2},
        {"operator": "delete", "line": 6, "end_line": 7},
        {"operator": "move_before", "line": 6, "to": 2},
        {"operator": "move_before", "line": 7, "to": 7},
        {"operator": "insert_before", "line": 3, "expr": "check()"},
        {"operator": "insert_before", "line": 7, "expr": "check("},
        {"operator": "replace_text", "line": 7, "old": "absent", "new": "x"},
        {"operator": "shuffle", "line": 7},
        {"operator": "delete", "line": 99},
    ],
)
def test_refuses_what_cannot_be_planted(recipe: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        planted(**recipe)


def test_other_files_keep_their_lines() -> None:
    assert map_line({"file": "a.py", "operator": "delete", "line": 1, "end_line": 9}, "b.py", 12) == {12}
