"""On correct jobs a rehearsal is silent too, with numbers and without: those that the monitors of a job are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked, Depth
from tests.preflight.rehearsals import rehearsed
from tests.runtime import (
    test_correct_experts,
    test_correct_gradients,
    test_correct_models,
    test_correct_optimizers,
    test_correct_saves,
)
from tests.runtime.shapes import HEAD
from tests.runtime.test_good_scripts import CASES, GOOD

pytestmark = [pytest.mark.torchrun, pytest.mark.slow]
SHAPES = {
    f"{module.__name__.rpartition('test_correct_')[2]}: {name}": program
    for module in (
        test_correct_experts,
        test_correct_gradients,
        test_correct_models,
        test_correct_optimizers,
        test_correct_saves,
    )
    for name, program in module.PROGRAMS.items()
}
SHAPES["left between a save and its result"] = """\
import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
group = dist.new_group(backend="gloo")
for step in range(9):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 2:
        future = dcp.async_save(model.state_dict(), checkpoint_id="saved", process_group=group)
future.result()
"""
DEPTHS: tuple[Depth, ...] = ("step", "real")
# Where the script ends before its steps are made, and why: nothing is reported of these either.
STOPS = {
    "full_checkpoint.py": ("it loads what it has saved, and nothing is saved", DEPTHS),
    "skipped_batches.py": (
        "the largest of all batches is that of the first rank, and another has a larger one",
        ("real",),
    ),
    "models: many forwards before the first step": ("it reads the report of a job", DEPTHS),
    "optimizers: a hand-written update": ("it asks for hooks that a rehearsal still has", ("step",)),
    "optimizers: a hand-written update past autograd, of gradients that are accumulated": ("the same", ("step",)),
    "optimizers: numbers of local shards": ("it asserts numbers", ("step",)),
}


def is_silent(name: str, script: Path, folder: Path, *arguments: str, size: int, depth: Depth) -> None:
    report = rehearsed(script, folder, *arguments, size=size, asked=Asked(depth=depth, steps=3))
    assert [(each.code, each.primary.site.row, each.message) for each in report.findings] == []
    assert bool(report.stopped) == (depth in STOPS.get(name, ("", ()))[1]), report.stopped
    assert report.sharded or report.stopped


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", CASES)
def test_scripts(name: str, depth: Depth, tmp_path: Path) -> None:
    run = CASES[name][0]
    arguments = [each.replace("{folder}", str(tmp_path)) for each in run.arguments]
    is_silent(name, GOOD / name, tmp_path / "report", *arguments, size=run.ranks, depth=depth)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, depth: Depth, tmp_path: Path) -> None:
    program = SHAPES[name]
    script = tmp_path / "train.py"
    script.write_text(HEAD + program + "dist.destroy_process_group()\n")
    is_silent(name, script, tmp_path / "report", size=4 if "# ranks: 4" in program else 2, depth=depth)
