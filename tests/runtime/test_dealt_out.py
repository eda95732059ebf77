"""Samplers and noise of the ranks, in a job."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun

SCRIPT = """\
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(DROP), nn.Linear(8, 8))
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
torch.manual_seed(rank)
sampler = DistributedSampler(data)
SETUP
for epoch in range(2):
    for rows, targets in DataLoader(data, batch_size=8, sampler=sampler):
        F.mse_loss(model(rows), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    sampler.set_epoch(EPOCH)
dist.barrier()
dist.destroy_process_group()
"""
DROPPED = "0.1"
CASES = {
    "each rank its own": ("", DROPPED, "epoch + 1", set()),
    "an epoch of each rank": ("", DROPPED, "epoch + 1 + rank", {"FSDP811"}),
    "a seed of each rank": ("sampler = DistributedSampler(data, seed=rank)", DROPPED, "epoch + 1", {"FSDP811"}),
    "in order": ("sampler = DistributedSampler(data, shuffle=False, seed=rank)", DROPPED, "epoch", set()),
    "the whole data": ("sampler = DistributedSampler(data, 1, 0, seed=rank)", DROPPED, "epoch + 1", set()),
    "one seed": ("torch.manual_seed(5)", DROPPED, "epoch + 1", {"FSDP812"}),
    "nothing dropped": ("torch.manual_seed(5)", "0.0", "epoch + 1", set()),
    "no dropout in evaluation": ("torch.manual_seed(5)\nmodel.eval()", DROPPED, "epoch + 1", set()),
}


@pytest.mark.parametrize("name", CASES)
def test_what_ranks_have_for_themselves(name: str, tmp_path: Path) -> None:
    setup, drop, epoch, expected = CASES[name]
    path = tmp_path / "train.py"
    text = SCRIPT.replace("SETUP", setup).replace("DROP", drop).replace("EPOCH", epoch)
    path.write_text(text, encoding="utf-8")
    job = run_program(path, tmp_path / "report", ranks=2)
    assert {finding.code for finding in job.findings} - {"FSDP301"} == expected, job.output()
    assert not any("broke down" in note for note in job.report.notes), job.report.notes
