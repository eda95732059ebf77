"""What several ranks write under one name, in a job: keys of a checkpoint, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun

SCRIPT = """\
import random
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_state_dict
from torch.distributed.fsdp import fully_shard


class Position:
    def __init__(self, read):
        self.read = read

    def state_dict(self):
        return {"read": self.read}

    def load_state_dict(self, state):
        self.read = state["read"]


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 8))
fully_shard(model)
torch.manual_seed(rank)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss = model(torch.randn(4, 8)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
weights, moments = get_state_dict(model, optimizer)
state = {"model": weights, "optimizer": moments, "step": step}
SAVE
dist.barrier()
dist.destroy_process_group()
"""
CASES = {
    "dcp.save({**state, 'data': Position(7 * rank)}, checkpoint_id='c')": {"FSDP712"},
    "dcp.save({**state, 'rng': [torch.get_rng_state()]}, checkpoint_id='c')": {"FSDP712"},
    "dcp.async_save({**state, 'rng': torch.get_rng_state()}, checkpoint_id='c').result()": {"FSDP712"},
    "state['rng'] = torch.get_rng_state()\ndcp.save(state, checkpoint_id='c')\ndcp.load(state, checkpoint_id='c')": {
        "FSDP712"
    },
    "dcp.save({**state, f'data_{rank}': Position(7 * rank)}, checkpoint_id='c')": set(),
    "dcp.save({**state, 'time': time.time(), 'loss': loss.detach()}, checkpoint_id='c')": set(),
    "dcp.save({'rng': torch.get_rng_state()}, checkpoint_id=f'c{rank}', no_dist=True)": set(),
    "torch.save(torch.get_rng_state(), 'rng.pt')": {"FSDP714"},
    "torch.save({'step': step, 'read': 7 * rank}, open('state.pt', 'wb'))": {"FSDP714"},
    "torch.save(model.state_dict(), 'model.pt')": {"FSDP701"},
    "torch.save(torch.get_rng_state(), f'rng-{rank}.pt')": set(),
    "torch.save({'step': step, 'time': time.time()}, 'state.pt')": set(),
    "if rank == 0:\n    torch.save(torch.get_rng_state(), 'rng.pt')": set(),
}


@pytest.mark.slow
@pytest.mark.parametrize("save", CASES)
def test_what_differs_under_one_name(save: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.replace("SAVE", save), encoding="utf-8")
    job = run_program(path, tmp_path / "report", ranks=2)
    codes = {finding.code for finding in job.findings if finding.severity.value == "error"}
    assert codes == CASES[save], job.output()
    assert not any("broke down" in note for note in job.report.notes), job.report.notes
