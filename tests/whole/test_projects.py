"""Correct projects, one for each style in which FSDP2 is written, have no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.lint import lint
from tests.copies import copied

ALL = Path(__file__).parents[1] / "projects"
PROJECTS = sorted(path for path in ALL.iterdir() if (path / "faults.json").is_file())


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_a_correct_project_is_clean(project: Path, tmp_path: Path) -> None:
    report = lint([str(copied(project, tmp_path))])
    assert not report.failures
    assert [f"{finding.code} {finding.primary.site}: {finding.message}" for finding in report.findings] == []
    assert report.candidates, "nothing in it was looked at"
