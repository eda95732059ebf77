"""The bundled examples as jobs: the good ones are clean, the broken ones give the marked code on the marked line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from fsdp2_lint.catalogue import registry
from tests.examples.test_examples_lint import EXAMPLES, entries, texts
from tests.pages.harness import marks
from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun
IN_JOBS = {rule.code for rule in registry.rules() if "R" in rule.judged_by}
ON_GPUS_ONLY = {"FSDP101", "FSDP102", "FSDP103"}


def judged(path: Path) -> set[tuple[str, int, str]]:
    """What a job on CPUs can find: (file, row, code)."""
    found = {(mark.file, mark.row, mark.code) for mark in marks(texts(path)) if mark.kind != "related"}
    return {each for each in found if each[2] in IN_JOBS - ON_GPUS_ONLY}


def script(path: Path) -> Path:
    return path / "train.py" if path.is_dir() else path


# Its hour has not come when the job is over: what would happen is seen in the source.
NOT_IN_A_SHORT_JOB = {"stop_by_own_clock"}
# A script and a folder. Of the others the first bad program of the clause's page shows the same, in a shorter job.
ALWAYS = {"optimizer_before_sharding", "local_value_read"}


def case(path: Path) -> Any:
    return pytest.param(path, id=path.stem, marks=[] if path.stem in ALWAYS else [pytest.mark.slow])


@pytest.mark.parametrize(
    "path", [case(path) for path in entries("broken") if judged(path) and path.stem not in NOT_IN_A_SHORT_JOB]
)
def test_broken(path: Path, tmp_path: Path) -> None:
    job = run_program(script(path), tmp_path)
    assert {(mark.file, mark.row, mark.code) for mark in job.marks(EXAMPLES)} == judged(path), job.output()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("reference.py", ["--steps", 5, "--save-every", 5, "--checkpoint-dir", "saved"]),
        ("project/train.py", ["--epochs", 1, "--output", "output"]),
    ],
)
def test_good(name: str, arguments: list[object], tmp_path: Path) -> None:
    job = run_program(EXAMPLES / "good" / name, tmp_path, *arguments)
    assert job.findings == [] and job.report.crashes == [] and job.report.notes == []
    assert job.report.sharded and job.report.steps >= 3
    assert [outcome.code for outcome in job.outcomes] == [0, 0], job.output()
