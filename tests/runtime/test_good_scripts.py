"""Correct training scripts of many shapes: nothing is reported on them, and watching them changes no bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import Job, run_bare, run_program

pytestmark = pytest.mark.torchrun
GOOD = Path(__file__).parent / "good"


@dataclass(frozen=True)
class Run:
    """One launch of a script. ``{folder}`` in an argument is a folder that the launches of one case share."""

    ranks: int = 2
    arguments: tuple[str, ...] = ()


ONE = (Run(),)
CASES: dict[str, tuple[Run, ...]] = {
    "accumulation.py": ONE,
    "adapters.py": ONE,
    "checkpoint_in_forward.py": ONE,
    "checkpoint_wrapper_blocks.py": ONE,
    "clip_and_schedule.py": ONE,
    "compile_blocks.py": ONE,
    "compile_model.py": ONE,
    "cpu_offload.py": ONE,
    "dcp_resume.py": (
        Run(4, ("--folder", "{folder}/checkpoint")),
        Run(2, ("--folder", "{folder}/checkpoint", "--resume")),
    ),
    "distillation.py": ONE,
    "ema.py": ONE,
    "encode_method.py": ONE,
    "evaluate_after_step.py": ONE,
    "evaluate_before_step.py": ONE,
    "experts.py": (Run(4),),
    "explicit_prefetch.py": ONE,
    "full_checkpoint.py": ONE,
    "gan.py": ONE,
    "generate_method.py": ONE,
    "hand_written_update.py": ONE,
    "hsdp.py": (Run(4),),
    "loss_wrapper.py": ONE,
    "meta_init.py": ONE,
    "mixed_precision.py": ONE,
    "own_optimizers.py": ONE,
    "plain.py": ONE,
    "reshard_root.py": ONE,
    "reshard_switched.py": ONE,
    "reshard_to_node.py": (Run(4),),
    "skipped_batches.py": ONE,
    "tied_weights.py": ONE,
    "trainer_package/train.py": ONE,
    "two_optimizers.py": ONE,
    "two_towers.py": ONE,
}
WHOLE = ("plain.py", "hsdp.py", "evaluate_before_step.py")
Launcher = Callable[..., Any]


class Results:
    """What the scripts printed and what was reported on them; each is run once for all tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watched: dict[tuple[str, int], list[Job]] = {}
        self._bare: dict[str, list[list[str]]] = {}

    def watched(self, name: str, steps: int = 3) -> list[Job]:
        if (name, steps) not in self._watched:
            self._watched[name, steps] = self._launch(
                name,
                f"watched-{steps}",
                lambda script, folder, *arguments, ranks: run_program(
                    script, folder, *arguments, ranks=ranks, steps=steps
                ),
            )
        return self._watched[name, steps]

    def bare(self, name: str) -> list[list[str]]:
        if name not in self._bare:
            self._bare[name] = self._launch(name, "bare", run_bare)
        return self._bare[name]

    def _launch(self, name: str, how: str, launcher: Launcher) -> list[Any]:
        shared = self._folder / how / name.replace("/", "-")
        found = []
        for number, run in enumerate(CASES[name]):
            arguments = [each.replace("{folder}", str(shared)) for each in run.arguments]
            found.append(launcher(GOOD / name, shared / str(number), *arguments, ranks=run.ranks))
        return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("good"))


def _printed(jobs: list[Job]) -> list[list[str]]:
    return [[job.output(rank) for rank in range(len(job.outcomes))] for job in jobs]


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", list(CASES))
def test_nothing_is_reported(name: str, results: Results) -> None:
    for job, run in zip(results.watched(name), CASES[name], strict=True):
        output = "\n".join(job.output(rank) for rank in range(run.ranks))
        assert job.findings == [], output
        assert job.report.crashes == [], output
        assert job.report.notes == [], output
        assert [each.code for each in job.outcomes] == [0] * run.ranks, output
        assert job.report.ended == dict.fromkeys(range(run.ranks), 0)
        assert job.report.world_size == run.ranks
        assert job.report.sharded
        assert job.report.exit_code == 0


@pytest.mark.parametrize("name", list(CASES))
def test_no_bit_changes(name: str, results: Results) -> None:
    printed = _printed(results.watched(name))
    assert printed == results.bare(name)
    for ranks in printed:
        lines = ranks[0].splitlines()
        assert len(lines) >= 5  # four steps and the hash of the weights
        assert len(lines[-1].split()[-1]) >= 32


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_no_bit_changes_when_all_steps_are_watched(name: str, results: Results) -> None:
    jobs = results.watched(name, 0)
    assert [job.findings for job in jobs] == [[]] * len(jobs)
    assert [job.report.notes for job in jobs] == [[]] * len(jobs)
    assert _printed(jobs) == results.bare(name)


@pytest.mark.slow
def test_another_seed_is_noticed(results: Results, tmp_path: Path) -> None:
    other = run_program(GOOD / "plain.py", tmp_path, "--seed", 1)
    assert other.report.exit_code == 0
    assert _printed([other]) != results.bare("plain.py")


def test_every_script_is_run() -> None:
    entries = {path.relative_to(GOOD).as_posix() for path in GOOD.rglob("*.py")}
    assert entries - {"trainer_package/trainer.py"} == set(CASES)
