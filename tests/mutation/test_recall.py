"""Each clause sees the faults that are planted into our own correct projects."""

from __future__ import annotations

from collections import Counter

import pytest

from .run import Outcome, attempt, keep_unchanged_files, recipes

LEAST = 0.97


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    keep_unchanged_files()
    return [attempt(task) for task in recipes(None)]


def test_nearly_all_planted_faults_are_found(outcomes: list[Outcome]) -> None:
    missed = [
        f"{each.recipe['code']} {each.recipe['file']}:{each.recipe['line']}" for each in outcomes if not each.found
    ]
    assert len(outcomes) >= 200
    assert len(missed) <= (1 - LEAST) * len(outcomes), missed


def test_no_clause_is_blind(outcomes: list[Outcome]) -> None:
    planted = Counter(each.recipe["code"] for each in outcomes)
    found = Counter(each.recipe["code"] for each in outcomes if each.found)
    assert {code for code in planted if not found[code]} == set()
