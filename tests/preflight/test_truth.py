"""What a rehearsal shows of a job is what the job does: what each rank holds, and each collective in turn."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.runtime.jobs import Job, run_program

pytestmark = pytest.mark.torchrun
EXAMPLES = Path(__file__).parents[2] / "examples" / "good"
PROGRAM = Path(__file__).parent / "programs" / "layouts.py"
LAYOUTS = ("flat", "hsdp", "tp", "experts", "tied", "int", "mixed")
SIZES = (2, 4, 8)


@pytest.mark.parametrize(
    ("layout", "size", "depth"),
    [(layout, size, depth) for layout in LAYOUTS for size in SIZES for depth in ("step", "real")],
)
def test_a_rehearsal_issues_what_the_job_issues(layout: str, size: int, depth: Depth, tmp_path: Path) -> None:
    job = _compared(PROGRAM, (layout,), size, depth, tmp_path)
    for rank, plan in enumerate(_plans(tmp_path / "rehearsal")):
        assert f"held {plan.held}\n" in job.output(rank)


@pytest.mark.slow
@pytest.mark.parametrize("depth", ["real", "step"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("script", ["reference.py", "project/train.py"])
def test_the_good_examples_issue_what_their_jobs_issue(script: str, size: int, depth: Depth, tmp_path: Path) -> None:
    _compared(EXAMPLES / script, (), size, depth, tmp_path)


def _compared(script: Path, arguments: tuple[str, ...], size: int, depth: Depth, folder: Path) -> Job:
    """A job and its rehearsal by all ranks, which have to issue the same; the job."""
    job = run_program(script, folder / "job", *arguments, ranks=size)
    assert all(each.code == 0 for each in job.outcomes), job.output()
    asked = Asked(depth=depth, steps=0, ranks=tuple(range(size)))
    rehearse(Script(str(script), arguments), asked, [size], folder / "rehearsal")
    real, played = _by_rank(folder / "job"), _by_rank(_only(folder / "rehearsal"))
    assert set(real) == set(played) == set(range(size))
    for rank in range(size):
        assert played[rank] == real[rank] and real[rank]
    return job


def _only(folder: Path) -> Path:
    [found] = folder.iterdir()
    return found


def _plans(folder: Path) -> Iterator[Plan]:
    for path in rank_files(_only(folder)):
        yield next(from_json(Plan, each["plan"]) for each in records(path) if each["record"] == "plan")


def _size(words: str) -> str:
    """Bytes are pickled objects, such as the plan of a checkpoint with its files, of which a rehearsal has none."""
    return "an object" if words.endswith("torch.uint8") else words


def _by_rank(folder: Path) -> dict[int, dict[Any, list[Any]]]:
    """Of each rank and each group, by its members, what was issued in turn: kind, size, names and line."""
    found: dict[int, dict[Any, list[Any]]] = {}
    for rank, path in enumerate(rank_files(folder)):
        for each in sequences(rank, path, records(path)):
            issued = [replace(one, order=0) for _, one in sorted(each.issued.items())]
            told = [(one.kind, _size(one.size), one.names, one.when.at) for one in issued]
            found.setdefault(rank, {}).setdefault(each.ranks, []).append(told)
    return {rank: {ranks: sorted(told) for ranks, told in own.items()} for rank, own in found.items()}
