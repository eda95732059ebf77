"""Faults that no recipe names are planted, are told from edits that plant nothing, and are found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation.machine import planting
from tests.mutation.machine.following import Repository, deep
from tests.mutation.machine.operator import Operator, Plant
from tests.mutation.machine.plan import RootFirst, RootOnly
from tests.mutation.machine.planting import OPERATORS, Outcome, attempt, chosen, plant_all
from tests.mutation.machine.report import recall, table
from tests.mutation.machine.saving import PlainSave
from tests.mutation.machine.text import changed
from tests.mutation.machine.view import View

ROOT = Path(__file__).parents[3]
PROJECTS = ROOT / "tests" / "projects"
FLOOR = 0.96  # measured: 0.97


class Nothing(RootFirst):
    """What it promises is another thing than what its edits do: it takes the sharding of the parts away."""

    name = "nothing"

    def places(self, view: View) -> Iterator[Plant]:
        return RootOnly().places(view)


def words(folder: Path, *operators: Operator) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planting, "OPERATORS", operators)
        return [outcome.word for outcome in plant_all(folder)]


def test_what_the_trace_does_not_show_is_no_mutant() -> None:
    assert words(PROJECTS / "single_script", RootFirst(), Nothing()) == ["found", "not reached"]


def test_what_no_rule_looks_for_is_missed() -> None:
    def work() -> Outcome:
        repository = Repository(PROJECTS / "single_script", planting.STEPS)
        chance = next(each for each in chosen(repository, 1) if each.operator.name == RootFirst.name)
        repository.rules = [rule for rule in repository.rules if rule.code != RootFirst.code]
        return attempt(repository, chance)

    assert deep(work).word == "missed"


def test_a_program_with_the_fault_gets_no_other_of_its_kind(tmp_path: Path) -> None:
    assert words(PROJECTS / "single_script", PlainSave()) == ["found"]
    repository = Repository(PROJECTS / "single_script", planting.STEPS)
    chance = next(each for each in deep(lambda: chosen(repository, 1)) if each.operator.name == PlainSave.name)
    path = chance.plant.edits[0].path
    (tmp_path / "train.py").write_bytes(changed(repository.data(path), chance.plant.edits))
    assert words(tmp_path, PlainSave()) == []
    assert words(tmp_path, RootFirst()) == ["found"]


@pytest.mark.slow
def test_all_is_the_same_again_and_stops_where_the_steps_end() -> None:
    folder = PROJECTS / "dcp_stateful"
    first = plant_all(folder)
    assert [each.data() for each in plant_all(folder)] == [each.data() for each in first]
    assert 0 < len(plant_all(folder, steps=5_000)) < len(first)


def test_the_table_counts_mutants_only() -> None:
    shown = [Outcome("r", "root-first", "FSDP302", word, "a.py:1", word != "found", "a.py") for word in planting.WORDS]
    assert recall(shown) == 0.5 and recall([]) is None
    assert "| root-first | FSDP302 | 2 | 1 | 1 | 0.50 | 0 / 1 | 1 | 1 |" in table(shown)


@pytest.mark.slow
def test_recall_on_the_own_projects_does_not_sink(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "scripts/plant.py", "tests/projects", "--jobs", "2", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [Outcome(**json.loads(line)) for line in out.read_text().splitlines()]
    share, planted = recall(outcomes), Counter(each.operator for each in outcomes if each.word in ("found", "missed"))
    assert share is not None and share >= FLOOR, done.stdout
    assert set(planted) == {operator.name for operator in OPERATORS}, "an operator finds no place any more"
    assert planted.total() >= 650, done.stdout
    assert not [each for each in outcomes if each.word == "crash"]
