"""No edit that hides a part of a program ends with "all fixed": made of the bad programs of all pages.

Each edit leaves the fault where it is, or takes away what it was found in. A part of them runs by default, in fixed
steps through the list; all of them with ``-m exhaustive``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.errors import Refusal
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.verify import compare
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Finding
from tests.locks import hiding
from tests.locks.hiding import Hidden
from tests.pages.harness import DEFAULT_FILE, Program, marks, programs

Edits = Callable[[Program, str], Iterator[Hidden]]
ALL = Asked(select=["ALL"])
STEP = 41  # of the edits of a kind, every so many-th runs by default
KINDS: dict[str, Edits] = {
    "eval": lambda program, entry: hiding.by_eval(program.files, entry),
    "computed name": lambda program, entry: hiding.by_a_computed_name(program.files, entry),
    "another package": lambda program, entry: hiding.by_another_package(program.files, entry),
    "settings": lambda program, entry: hiding.by_settings(program.files),
    "deletion": lambda program, entry: hiding.by_deletion(program.files, entry, rows(program)),
}


def rows(program: Program) -> dict[str, set[int]]:
    """Where something is found, by file."""
    found: dict[str, set[int]] = {}
    for mark in marks(program.files):
        if mark.kind != "related":
            found.setdefault(mark.file, set()).add(mark.row)
    return found


@cache
def bad_programs() -> list[tuple[str, Program]]:
    return [
        (rule.code, program)
        for rule in registry.rules()
        if "S" in rule.judged_by
        for program in programs(registry.page(rule))
        if not program.good
    ]


def edits(kind: str) -> list[tuple[int, Hidden]]:
    """Of each the number of its program."""
    return [
        (number, hidden)
        for number, (_, program) in enumerate(bad_programs())
        for hidden in KINDS[kind](program, DEFAULT_FILE if DEFAULT_FILE in program.files else [*program.files][-1])
    ]


def write(folder: Path, files: dict[str, str], settings: str = "") -> None:
    for old in folder.rglob("*.py"):
        old.unlink()
    for name, text in {**files, "pyproject.toml": "", "fsdp2-lint.toml": settings}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def fooled(chosen: Sequence[tuple[int, Hidden]], folder: Path) -> list[str]:
    """The edits after which ``verify`` would end with exit code 0."""
    before: dict[int, list[Finding]] = {}
    wrong = []
    for number, hidden in chosen:
        code, program = bad_programs()[number]
        project = folder / str(number)
        project.mkdir(exist_ok=True)
        if number not in before:
            write(project, program.files)
            before[number] = lint([str(project)], ALL).findings
        write(project, hidden.files, hidden.settings)
        if before[number] and ends_well(before[number], project):
            wrong.append(f"{code}, {program.title}: {hidden.how}")
    return wrong


def ends_well(before: list[Finding], project: Path) -> bool:
    try:
        return compare(before, [str(project)], ALL, lint).clean
    except Refusal:  # nothing is left to check: exit code 2
        return False


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_no_edit_of_a_sample_is_taken_for_a_mend(kind: str, tmp_path: Path) -> None:
    chosen = edits(kind)[::STEP]
    assert len(chosen) > 5
    assert fooled(chosen, tmp_path) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_no_edit_is_taken_for_a_mend(kind: str, tmp_path: Path) -> None:
    assert fooled(edits(kind), tmp_path) == []
