"""``check FILE`` says of a file what ``check FOLDER`` says of it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Finding
from tests.locks.programs import Program, daily, examples, pages, planted, projects, sample

Told = tuple[str, str, tuple[object, ...]]


def cases(programs: Iterable[Program]) -> list[Program]:
    """Those of several files. What is right gives no finding, alone or not: of those some are enough."""
    several = [each for each in programs if sum(name.endswith(".py") for name in each.files) > 1]
    return [*(each for each in several if not each.good), *sample((each for each in several if each.good), 0.2)]


@cache
def faults() -> list[Program]:
    return list(planted())


def written(program: Program, root: Path) -> Path:
    (root / "pyproject.toml").touch()  # the project ends here, whatever lies above
    for name, text in program.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def checked(path: Path, program: Program) -> Report:
    report = lint([str(path)], Asked(select=["ALL"], target=program.target))
    assert not report.failures
    return report


def told(findings: Iterable[Finding]) -> list[Told]:
    return sorted((each.code, each.message, tuple(map(str, each.sites))) for each in findings)


def differences(program: Program, root: Path) -> list[str]:
    whole = checked(written(program, root), program).findings
    wrong = []
    for path in sorted(root.rglob("*.py")):
        alone = checked(path, program)
        expected = [each for each in whole if any(site.path == str(path) for site in each.sites)]
        if told(alone.findings) != told(expected):
            wrong.append(f"{path.name}: {told(alone.findings)} and not {told(expected)}")
        if alone.elsewhere + len(alone.findings) > len(whole):
            wrong.append(f"{path.name}: {alone.elsewhere} elsewhere")
    return wrong


@pytest.mark.parametrize("program", cases([*pages(), *examples(), *projects()]), ids=str)
def test_a_file_alone_and_in_its_folder(program: Program, tmp_path: Path) -> None:
    assert differences(program, tmp_path) == []


@pytest.mark.parametrize("program", daily(cases(faults()), 0.1), ids=str)
def test_a_file_with_a_planted_fault_in_reach(program: Program, tmp_path: Path) -> None:
    assert differences(program, tmp_path) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", cases(faults()), ids=str)
def test_a_file_with_any_planted_fault_in_reach(program: Program, tmp_path: Path) -> None:
    assert differences(program, tmp_path) == []
