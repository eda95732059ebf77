"""A model gets its memory from ``to_empty``: without values, a rehearsal sees what has written it, and what has not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked
from tests.preflight.rehearsals import rehearsed

pytestmark = pytest.mark.torchrun
TRAINING = """
import os
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.fsdp import fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
with torch.device("meta"):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64))
for part in (model[0], model[2]):
    fully_shard(part)
fully_shard(model)
model.to_empty(device="cuda")
INITIALISE
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(5):
    model(torch.randn(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
INIT = "model[0].reset_parameters()\nmodel[3].reset_parameters()\n"


def found(tmp_path: Path, initialise: str) -> list[str]:
    script = tmp_path / "train.py"
    script.write_text(TRAINING.replace("INITIALISE", initialise), encoding="utf-8")
    report = rehearsed(script, tmp_path / "report", size=16, asked=Asked(depth="step", ranks=(0, 9)))
    assert not report.stopped, report.stopped
    return [each.code for each in report.findings]


@pytest.mark.slow
def test_a_part_that_nothing_writes(tmp_path: Path) -> None:
    assert found(tmp_path, INIT) == ["FSDP201"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rest",
    [
        "model[2].reset_parameters()",
        "for each in model[2].parameters():\n    each.data.to_local().normal_()",
        "for each in model[2].parameters():\n    dist.broadcast(each.data.to_local(), 0)",
        "dcp.load({'model': model.state_dict()}, checkpoint_id='checkpoint')",
        "new = {name: torch.randn_like(each) for name, each in model[2].state_dict().items()}\n"
        "model[2].load_state_dict(new, assign=True)",
    ],
    ids=["reset", "data", "broadcast", "load", "assigned"],
)
def test_what_writes(rest: str, tmp_path: Path) -> None:
    assert not found(tmp_path, f"{INIT}{rest}\n")
