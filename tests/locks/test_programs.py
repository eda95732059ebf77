"""The reader of programs: what it hands out says in memory what the same files say on the disk."""

from __future__ import annotations

import pytest

from tests.locks.programs import Program, analyse, daily, examples, name_of, pages, planted, projects
from tests.pages.harness import in_source, marks

MISSED = {"modules_filter-FSDP908-insert_before-fa3644": "the one that tests/mutation/README.md counts as missed"}


@pytest.mark.parametrize("program", daily((*pages(), *examples()), 0.2), ids=str)
def test_findings_are_those_that_are_marked(program: Program) -> None:
    """An example whose fault only a job can see has nothing to find here."""
    wanted = {(mark.code, mark.file, mark.row) for mark in in_source(marks(program.files)) if mark.kind != "related"}
    found = {place for place in analyse(program).places if place[0] == program.clause or not program.clause}
    assert found <= wanted
    assert bool(found) is (not program.good and bool(wanted))


@pytest.mark.parametrize("program", projects(), ids=str)
def test_projects_are_clean(program: Program) -> None:
    advice = {"FSDP309"}
    assert set(analyse(program).codes) <= advice


@pytest.mark.parametrize("program", daily(planted(), 0.1), ids=str)
def test_planted_faults_are_found(program: Program) -> None:
    assert program.clause in analyse(program).codes or program.name in MISSED


def test_all_kinds_are_there_with_names_of_their_own() -> None:
    kinds = (pages(), examples(), projects(), planted())
    assert all(len(kind) >= 25 for kind in kinds)
    named = [program.name for kind in kinds for program in kind]
    assert len(named) == len(set(named))
    assert {program.clause for program in pages() if not program.good} >= {program.clause for program in planted()}


def test_paths_of_findings_are_those_of_the_program() -> None:
    program = next(each for each in pages() if not each.good and len(each.files) > 1)
    seen = analyse(program)
    assert {name_of(finding.primary.site.path) for finding in seen.findings} <= set(program.files)
