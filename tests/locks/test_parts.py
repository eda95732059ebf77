"""Each part of each program that is silenced, or known, as a whole: nothing of that is called unneeded there.

The programs are those of several files, of all pages, examples and planted faults. Of a few of them each file and each
folder is checked on its own by default; of all of them with ``-m exhaustive``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.catalogue.codes import UNUSED
from fsdp2_lint.findings.add_ignore import with_ignores
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.baseline import Baseline, Entry
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from tests.locks.programs import Program, everything, sample

SHARE = 0.012
ALL = Asked(select=["ALL"])
CASES = [each for each in everything() if not each.good and len(each.files) > 1]


def laid_out(program: Program, folder: Path) -> list[str]:
    """The parts: each file, and each folder below the project."""
    (folder / "pyproject.toml").touch()
    for name, text in program.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    folders = {str(path.parent) for path in folder.rglob("*.py")} - {str(folder)}
    return [*(str(folder / name) for name in program.files if name.endswith(".py")), *sorted(folders)]


def unneeded(report: Report) -> set[tuple[str, int]]:
    return {(each.primary.site.path, each.primary.site.row) for each in report.findings if each.code == UNUSED}


def hold(program: Program, folder: Path) -> int:
    """How many findings there are to be silenced."""
    parts = laid_out(program, folder)
    whole = lint([str(folder)], ALL)
    entries = tuple(Entry.of(each, folder) for each in whole.findings)
    asked = Asked(select=["ALL"], baseline=Baseline(folder / "known.json", entries))
    assert not [part for part in parts if lint([part], asked).gone]
    for path, data in with_ignores(whole.findings, whole.sources, whole.own).changed.items():
        Path(path).write_bytes(data)
    silent = lint([str(folder)], ALL)
    assert len(silent.silenced) >= len(whole.findings)
    assert not [part for part in parts if unneeded(lint([part], ALL)) - unneeded(silent)]
    return len(whole.findings)


@pytest.mark.parametrize("program", sample(CASES, SHARE), ids=str)
def test_a_part_says_nothing_against_the_whole(program: Program, tmp_path: Path) -> None:
    assert hold(program, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", CASES, ids=str)
def test_no_part_does(program: Program, tmp_path: Path) -> None:
    hold(program, tmp_path)
