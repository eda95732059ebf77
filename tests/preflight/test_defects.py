"""Defects of torch as a rehearsal sees them: what is met, what looks like it, and what nobody can tell yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.vocab.target import Version
from tests.preflight.rehearsals import REAL, rehearsed
from tests.static.checks.test_defects import HOOKS, LOOK_ALIKES, STAGES

pytestmark = pytest.mark.torchrun
CODE = "FSDP910"
UNFREEZES = "    model.layers.requires_grad_(True)"


def report_of(files: Mapping[str, str], folder: Path, torch: Version, old: str = "", new: str = "") -> JobReport:
    for name, text in files.items():
        (folder / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    size = 8 if "(2, 4)" in str(files) else 4
    return rehearsed(folder / "train.py", folder / "report", size=size, asked=replace(REAL, ranks=(0,), target=torch))


def test_the_error_of_the_backward_is_explained(tmp_path: Path) -> None:
    report = report_of(STAGES, tmp_path, (2, 13))
    assert [each.code for each in report.findings] == [CODE]
    if report.stopped:  # the torch that is installed has this defect
        assert [crash.code for crash in report.crashes] == [CODE]


@pytest.mark.slow
@pytest.mark.parametrize(
    "set_later",
    ["model.layers[0].weight.requires_grad = True", "model.layers[1].bias.requires_grad_()"],
    ids=["as an attribute", "one parameter"],
)
def test_the_line_that_unfreezes_a_single_parameter(set_later: str, tmp_path: Path) -> None:
    report = report_of(STAGES, tmp_path, (2, 13), UNFREEZES, f"    {set_later}")
    row = 1 + STAGES["train.py"].splitlines().index(f"{UNFREEZES}  # warning: [{CODE}]")
    assert [(each.code, each.primary.site.row) for each in report.findings] == [(CODE, row)]


@pytest.mark.slow
@pytest.mark.parametrize(("files", "torch", "old", "new"), LOOK_ALIKES)
def test_what_looks_like_it(files: Mapping[str, str], torch: Version, old: str, new: str, tmp_path: Path) -> None:
    report = report_of(files, tmp_path, torch, old, new)
    assert report.sharded and CODE not in {each.code for each in report.findings}


@pytest.mark.slow
def test_hooks_that_are_taken_back(tmp_path: Path) -> None:
    kept = "parameter.register_post_accumulate_grad_hook(step)"
    assert CODE not in {each.code for each in report_of(HOOKS, tmp_path, (2, 12), kept, f"{kept}.remove()").findings}


@pytest.mark.slow
def test_what_follows_on_the_end_of_a_rehearsal_is_not_upheld(tmp_path: Path) -> None:
    """It ends in the first stage, in which the layers are frozen still."""
    report = report_of(STAGES, tmp_path, (2, 13), "lr=1e-3), 2)", "lr=1e-3), 20)")
    assert CODE not in {each.code for each in report.findings}
    assert {each.word for each in report.verdicts if each.code == CODE} == {"unknown"}
