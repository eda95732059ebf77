"""Saves and loads of DCP that fail, and what is asked of optimizers afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun

SCRIPT = """\
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.fsdp import fully_shard


class Broken:
    def state_dict(self):
        raise OSError("no space left on device")

    def load_state_dict(self, state):
        pass


dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for call in (dcp.load, dcp.save):
    try:
        call({"app": Broken()}, checkpoint_id="checkpoint")
    except BaseException as error:
        print("failed:", type(error).__name__)
    optimizer.state_dict()
    model(torch.randn(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
"""


def test_what_is_asked_for_later_is_not_for_them(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    job = run_program(path, tmp_path / "report", ranks=1)
    assert job.output().count("failed:") == 2, job.output()
    assert not {finding.code for finding in job.findings} & {"FSDP703", "FSDP713"}, job.output()
