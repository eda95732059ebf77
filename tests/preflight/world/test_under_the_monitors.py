"""The hooks of a job see a rehearsal as they see the job: no false alarm, and no collective twice or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from fsdp2_lint.preflight.world import Depth, Place
from fsdp2_lint.report.sequences import sequences
from fsdp2_lint.runtime.launch.ranks import run_ranks
from tests.preflight.world.inside import BUSY
from tests.preflight.world.test_meshes_and_kernels import TENSOR_PARALLEL
from tests.preflight.world.test_objects_and_files import BEGIN
from tests.preflight.world.test_scripts_for_gpus import ROOT, TRAIN
from tests.runtime.jobs import run_program


def watched(script: Path, *arguments: str, rank: int = 3, world_size: int = 8, depth: Depth = "step") -> list[Any]:
    """The records of a rank's report, rehearsed or run by itself."""
    folder = script.parent / "report"
    work = (str(script), arguments, Place(rank, world_size, 8), depth, str(folder))
    (outcome,) = run_ranks(_watched, 1, *work, timeout=BUSY, environment={"FSDP2_LINT_DEBUG": "1"})
    assert outcome.result == 0, outcome
    return list(_records(folder))


def _watched(script: str, arguments: tuple[str, ...], place: Place, depth: Depth, folder: str) -> int:
    from fsdp2_lint.preflight.world import enter
    from fsdp2_lint.runtime.launch.program import Program
    from fsdp2_lint.runtime.launch.script import run_script
    from fsdp2_lint.runtime.session import Options

    enter(place, depth)
    return run_script(Program(script, arguments), Options(3, "report", ("FSDP",), (), 60.0), Path(folder), live=False)


def _records(folder: Path) -> Iterator[Any]:
    for file in folder.rglob("*.jsonl"):
        yield from map(json.loads, file.read_text().splitlines())


def of_kind(records: list[Any], kind: str) -> list[Any]:
    return [each for each in records if each["record"] == kind]


def written(tmp_path: Path, text: str) -> Path:
    script = tmp_path / "train.py"
    script.write_text(dedent(text))
    return script


@pytest.mark.parametrize("depth", ["real", "step"])
def test_the_reference_script_is_clean(tmp_path: Path, depth: Depth) -> None:
    script = written(tmp_path, (ROOT / "examples/good/reference.py").read_text())
    records = watched(script, "--steps", "2", "--save-every", "2", depth=depth)
    assert not of_kind(records, "finding") and not of_kind(records, "defect")
    asked = [each for each in of_kind(records, "verdict") if each["code"] == "FSDP101"]
    assert {each["word"] for each in asked} == {"upheld"}


def issued(folder: Path, rank: int = 3) -> list[Any]:
    """What a rank has issued, group by group."""
    (path,) = folder.rglob(f"rank{rank}.jsonl")
    found = sequences(rank, path, map(json.loads, path.read_text().splitlines()))
    assert found
    return sorted((each.ranks, [(one.kind, one.size, one.names) for one in each.issued.values()]) for each in found)


@pytest.mark.slow
def test_tensors_without_values_are_sent_as_those_with_values(tmp_path: Path) -> None:
    """What DTensor only tries out is not counted, and what it sends is."""
    found = []
    depths: tuple[Depth, ...] = ("real", "step")
    for depth in depths:
        folder = tmp_path / depth
        folder.mkdir()
        watched(written(folder, BEGIN + TENSOR_PARALLEL), world_size=32, depth=depth)
        found.append(issued(folder))
    assert found[0] == found[1]
    assert {kind for _, all_ in found[0] for kind, _, _ in all_} >= {"all_gather", "reduce_scatter", "all_reduce"}


@pytest.mark.slow
def test_a_job_issues_what_its_rehearsal_does(tmp_path: Path) -> None:
    script = written(tmp_path, (ROOT / "examples/good/reference.py").read_text())
    watched(script, "--steps", "2", world_size=4)
    job = run_program(script, tmp_path / "job", "--steps", "2", ranks=4)
    assert not job.findings
    assert issued(tmp_path / "report") == issued(tmp_path / "job")


def test_a_gpu_that_is_used_before_one_is_selected(tmp_path: Path) -> None:
    text = TRAIN.replace("torch.cuda.set_device(local_rank)", "torch.ones(1).cuda()")
    found = of_kind(watched(written(tmp_path, text)), "finding")
    assert [each["code"] for each in found] == ["FSDP101"]
