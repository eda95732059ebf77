"""The table of faults found in public code is well formed: what it names can be looked up and seen again."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry

PAGE = (Path(__file__).parents[2] / "docs" / "found.md").read_text(encoding="utf-8")
HEAD, _, *LINES = [line for line in PAGE.splitlines() if line.startswith("|")]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES]
# What each column holds.
SHAPES = {
    "repository": r"[\w.-]+/[\w.-]+",
    "commit": r"[0-9a-f]{12}",
    "file": r"`[^`]+\.(?:py|ipynb)`",
    "line": r"[1-9]\d*",
    "rule": r"FSDP\d{3}",
    "proof": r"run|read",
    "what happens": r"[A-Z`].*\.",
}


def column(name: str) -> list[str]:
    return [row[list(SHAPES).index(name)] for row in ROWS]


def test_there_are_forty() -> None:
    assert len(ROWS) >= 40


def test_columns_are_named() -> None:
    assert [cell.strip() for cell in HEAD.strip("|").split("|")] == [*SHAPES]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}:{row[3]}" for row in ROWS])
def test_cells_hold_what_their_column_says(row: list[str]) -> None:
    assert len(row) == len(SHAPES)
    assert all(re.fullmatch(shape, cell) for shape, cell in zip(SHAPES.values(), row, strict=True)), row


def test_clauses_exist_and_are_many() -> None:
    assert set(column("rule")) <= {rule.code for rule in registry.rules()}
    assert len(set(column("rule"))) >= 15


def test_rows_differ_and_no_repository_has_more_than_three() -> None:
    assert len({tuple(row[:5]) for row in ROWS}) == len(ROWS)
    assert max(Counter(column("repository")).values()) <= 3


def test_a_repository_has_one_commit() -> None:
    assert len(set(zip(column("repository"), column("commit"), strict=True))) == len(set(column("repository")))


def test_rows_are_sorted_by_clause() -> None:
    assert column("rule") == sorted(column("rule"))


def test_the_command_shows_a_row() -> None:
    repository, commit, code = re.search(
        r"git clone https://github\.com/(\S+) .*\ngit checkout (\w+)\nfsdp2-lint check \. --isolated --select (\w+)",
        PAGE,
    ).groups()  # type: ignore[union-attr]
    assert [repository, commit, code] in [[row[0], row[1], row[4]] for row in ROWS]
