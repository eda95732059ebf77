"""What a rehearsal shows of a job is what the job does: what each rank holds, and each collective in turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked, Depth, Script
from fsdp2_lint.preflight.plan.codec import from_json
from fsdp2_lint.preflight.plan.shape import Plan
from fsdp2_lint.preflight.rehearsal import rehearse
from fsdp2_lint.report.rank_file import rank_files, records
from fsdp2_lint.report.sequences import sequences
from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun
PROGRAM = Path(__file__).parent / "programs" / "layouts.py"
LAYOUTS = ("flat", "hsdp", "tp", "experts", "tied", "int", "mixed")
SIZES = (2, 4, 8)


def cases() -> list[Any]:
    first = {("flat", 2), ("hsdp", 4), ("tp", 4)}
    return [
        pytest.param(layout, size, marks=[] if (layout, size) in first else [pytest.mark.slow])
        for layout in LAYOUTS
        for size in SIZES
    ]


@pytest.mark.parametrize("depth", ["real", "step"])
@pytest.mark.parametrize(("layout", "size"), cases())
def test_a_rehearsal_issues_what_the_job_issues(layout: str, size: int, depth: Depth, tmp_path: Path) -> None:
    job = run_program(PROGRAM, tmp_path / "job", layout, ranks=size)
    assert all(each.code == 0 for each in job.outcomes), job.output()
    asked = Asked(depth=depth, steps=3, ranks=tuple(range(size)))
    [folder] = rehearse(Script(str(PROGRAM), (layout,)), asked, [size], tmp_path / "rehearsal")
    real, played = _by_rank(tmp_path / "job"), _by_rank(folder)
    assert set(real) == set(played) == set(range(size))
    for rank in range(size):
        assert played[rank] == real[rank] and real[rank]
        assert f"held {_plan(folder, rank).held}\n" in job.output(rank)


def _plan(folder: Path, rank: int) -> Plan:
    told = records(rank_files(folder)[rank])
    return next(from_json(Plan, each["plan"]) for each in told if each["record"] == "plan")


def _by_rank(folder: Path) -> dict[int, dict[Any, list[Any]]]:
    """Of each rank and each group, by its members, what was issued in turn: kind, size, names and line."""
    found: dict[int, dict[Any, list[Any]]] = {}
    for rank, path in enumerate(rank_files(folder)):
        for each in sequences(rank, path, records(path)):
            issued = [replace(one, order=0) for _, one in sorted(each.issued.items())]
            told = [(one.kind, one.size, one.names, one.when.at) for one in issued]
            found.setdefault(rank, {}).setdefault(each.ranks, []).append(told)
    return {rank: {ranks: sorted(told) for ranks, told in own.items()} for rank, own in found.items()}
