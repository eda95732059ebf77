"""The good examples train, save and resume exactly, on two gloo ranks."""

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from tests.runtime.jobs import run_bare

GOOD = Path(__file__).parents[2] / "examples" / "good"

pytestmark = pytest.mark.torchrun


def trained(script: Path, folder: Path, *args: object) -> list[str]:
    """Run a script on two ranks without GPUs; returns the lines that rank 0 printed."""
    return run_bare(script, folder, *args)[0].splitlines()


def losses(lines: list[str]) -> list[float]:
    return [float(match[1]) for line in lines if (match := re.search(r"loss (\S+)", line))]


def load_checkpoint(path: Path) -> dict:
    """The full content of a distributed checkpoint, read in this process alone."""
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    single_file = path.with_suffix(".pt")
    dcp_to_torch_save(path, single_file)
    return torch.load(single_file, weights_only=False)


def flatten(value: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(value, dict):
        return {prefix: value}
    flat = {}
    for key, item in value.items():
        flat |= flatten(item, f"{prefix}/{key}")
    return flat


def assert_same(left: dict, right: dict) -> None:
    """Bitwise: weights, optimizer state, and what else the checkpoints hold."""
    left, right = flatten(left), flatten(right)
    assert left.keys() == right.keys()
    for key, value in left.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, right[key]), key
        else:
            assert value == right[key], key


@pytest.mark.slow
def test_reference_trains_and_resumes(tmp_path: Path) -> None:
    script = GOOD / "reference.py"
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"

    lines = trained(script, tmp_path / "first", "--steps", 20, "--save-every", 10, "--checkpoint-dir", whole)
    assert lines[-1] == f"saved {whole / 'step-20'}"
    first, *_, last = losses(lines)
    assert first > 4 and last < 1

    args = ("--steps", 20, "--save-every", 10, "--checkpoint-dir", resumed)
    again = trained(script, tmp_path / "second", *args, "--resume", whole / "step-10")
    assert again[:1] == ["resumed at step 10"]
    assert losses(again) == losses(lines)[10:]
    assert_same(load_checkpoint(whole / "step-20"), load_checkpoint(resumed / "step-20"))


@pytest.mark.slow
def test_project_trains_and_resumes(tmp_path: Path) -> None:
    script = GOOD / "project" / "train.py"
    output, whole = tmp_path / "output", tmp_path / "whole"

    lines = trained(script, tmp_path / "first", "--epochs", 3, "--output", output)
    assert lines[-1].startswith("epoch 3, validation loss")
    assert losses(lines) == sorted(losses(lines), reverse=True)
    assert losses(lines)[-1] < 0.5

    # As if the job had died in the third epoch, before its checkpoint was complete.
    shutil.copytree(output, whole)
    (output / "epoch-3" / ".metadata").unlink()
    (output / "weights.pt").unlink()
    again = trained(script, tmp_path / "second", "--epochs", 3, "--output", output, "--resume")
    assert again == ["resumed after epoch 2", lines[-1]]
    assert_same(load_checkpoint(whole / "epoch-3"), load_checkpoint(output / "epoch-3"))
    assert_same(torch.load(whole / "weights.pt"), torch.load(output / "weights.pt"))
