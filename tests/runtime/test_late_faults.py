"""What is attached or unfrozen after the first step is seen when the watched steps are over."""

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
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8)) for _ in range(3))
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            if hasattr(block[0], "adapter"):
                x = x + block[0].adapter(x)
        return self.head(x)


dist.init_process_group("gloo")
torch.manual_seed(0)
model = Net()
model.head.requires_grad_(False)
for block in model.blocks:
    fully_shard(block)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
generator = torch.Generator().manual_seed(dist.get_rank())
for step in range(4):
    if step == 1:
        model.blocks[0][0].adapter = nn.Linear(8, 8)
        optimizer.add_param_group({"params": model.blocks[0][0].adapter.parameters()})
        model.head.requires_grad_(True)
    model(torch.randn(2, 8, generator=generator)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
"""


def test_a_plan_is_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    job = run_program(path, tmp_path / "report", ranks=2)
    found = {finding.code: finding for finding in job.findings}
    assert set(found) == {"FSDP303", "FSDP304"}, job.output()
    assert found["FSDP303"].primary.site.row == SCRIPT.split("fully_shard(block)")[0].count("\n") + 1
    assert "blocks.0.0.adapter is attached" in found["FSDP304"].message
    assert "head.weight" in found["FSDP303"].message
