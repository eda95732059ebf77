"""The command that measures a check runs as it is described. What it measures is no matter here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, str(ROOT / "benchmarks" / "check.py"))
TEXT = "from torch.distributed.fsdp import fully_shard\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*COMMAND, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_each_case_has_a_row_and_the_tree_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TEXT)
    ran = run(str(tmp_path), "--runs", "1", "--tools", "fsdp2-lint", "--output-format", "markdown")
    assert ran.returncode == 0, ran.stderr
    cold, *_, edited = rows = re.findall(r"^\| fsdp2-lint, (\D+?) \| \d", ran.stdout, re.MULTILINE)
    assert len(rows) == 5 and cold == rows[1] == "cold, one process" and edited == "warm, after one edit"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("train.py", TEXT)]


def test_a_tree_without_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    ran = run(str(tmp_path), "--runs", "1", "--tools", "fsdp2-lint")
    assert ran.returncode == 1 and "no Python files" in ran.stderr
