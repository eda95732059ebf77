"""Where a fault is really gone, ``verify`` says so: agents work until it ends with exit code 0.

The mends are planted faults taken back, and on each page the good program that is most like a bad one. What is left to
reach 1 are clauses that stay unknown in the correct program, and, on pages, good programs that show what does not
count instead of a mend.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.verify import compare
from fsdp2_lint.lint import lint
from tests.locks.test_verify_is_not_fooled import ALL, bad_programs, ends_well, write
from tests.mutation.operators import plant
from tests.mutation.run import recipes
from tests.pages.harness import Program, programs

PLANTED = [*recipes(None)]
STEP = 29
KNOWN_OF_PLANTED, KNOWN_OF_PAGES = 0.96, 0.8


def taken_back(project: Path, recipe: Mapping[str, Any], folder: Path) -> bool | None:
    """Is the correct project a mend of the one with the fault? None if the fault is not found to begin with."""
    shutil.copytree(project, folder, dirs_exist_ok=True)
    (folder / "pyproject.toml").touch()
    file = folder / recipe["file"]
    correct = file.read_text()
    file.write_text(plant({recipe["file"]: correct}, recipe)[recipe["file"]])
    before = lint([str(folder)]).findings
    file.write_text(correct)
    return compare(before, [str(folder)], Asked(), lint).clean if before else None


def share(results: list[bool | None]) -> float:
    known = [each for each in results if each is not None]
    return sum(known) / len(known)


@pytest.mark.slow  # a whole check before and after each fault
def test_faults_of_a_sample_are_fixed_when_they_are_taken_back(tmp_path: Path) -> None:
    results = [taken_back(project, recipe, tmp_path / project.name) for project, recipe in PLANTED[::STEP]]
    assert len(results) > 15 and share(results) >= 0.9


@pytest.mark.exhaustive
def test_faults_are_fixed_when_they_are_taken_back(tmp_path: Path) -> None:
    results = [taken_back(project, recipe, tmp_path / project.name) for project, recipe in PLANTED]
    assert share(results) >= KNOWN_OF_PLANTED


@pytest.mark.exhaustive
def test_the_good_programs_of_pages_mend_the_bad_ones(tmp_path: Path) -> None:
    results: list[bool | None] = []
    for number, (code, bad) in enumerate(bad_programs()):
        folder = tmp_path / str(number)
        write(folder, bad.files)
        before = lint([str(folder)], ALL).findings
        write(folder, most_like(bad, code).files)
        results.append(ends_well(before, folder) if before else None)
    assert share(results) >= KNOWN_OF_PAGES


def most_like(bad: Program, code: str) -> Program:
    good = [each for each in programs(registry.page(registry.rule(code))) if each.good]
    return max(good, key=lambda each: SequenceMatcher(None, lines(bad), lines(each)).ratio())


def lines(program: Program) -> list[str]:
    return "".join(program.files[name] for name in sorted(program.files)).splitlines()
