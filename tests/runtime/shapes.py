"""Programs in the shapes of real code, put before the monitor: what they have in common, and what is asked of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.runtime.jobs import run_program

HEAD = """\
import dataclasses

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 32)

    def forward(self, x):
        return x + self.up(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(32, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def loss_of(model, step):
    tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


class Experts(nn.Module):
    \"\"\"Its own on each rank of a mesh for experts; ``seed`` makes it.\"\"\"

    def __init__(self, seed, width=32):
        super().__init__()
        self.up = nn.Linear(32, width)
        self.down = nn.Linear(width, 32)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def with_experts(seed, width=32):
    model = Net()
    for layer in model.layers:
        layer.up = Experts(seed, width)
    return model


dist.init_process_group("gloo")
torch.manual_seed(0)
"""
MESHES = """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("shard", "experts"))
world = dist.init_device_mesh("cpu", (4,))
"""
OWN = """\
class Own(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                self.update(parameter, parameter.grad, group["lr"])


def orthogonal(x):
    x = x / (x.norm() + 1e-7)
    for _ in range(3):
        x = 1.5 * x - 0.5 * (x @ x.T) @ x
    return x


"""
TRAINED = """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
STEPS = """\
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def nothing_is_reported(program: str, folder: Path) -> None:
    """Correct, in a shape that invites a wrong conclusion: each of them once brought one about."""
    script = folder / "train.py"
    script.write_text(HEAD + program + "dist.destroy_process_group()\n")
    job = run_program(script, folder / "report", ranks=4 if "# ranks: 4" in program else 2)
    assert [(each.code, each.primary.site.row, each.message) for each in job.findings] == []
    assert job.report.crashes == [] and job.report.notes == [], job.output()
    assert job.report.sharded and job.report.steps >= 3


def each_fault_is_told_once(program: str, folder: Path) -> None:
    """Faulty: the code and the row are those that a comment ``# expect`` says."""
    script, program = folder / "train.py", HEAD + program
    script.write_text(program + "dist.barrier()\ndist.destroy_process_group()\n")
    job = run_program(script, folder / "report", ranks=4 if "# ranks: 4" in program else 2)
    found = [(each.code, each.primary.site.row) for each in job.findings if each.severity.value != "info"]
    assert found == expected(program), (job.output(), job.findings)
    assert "broke down" not in str(job.report.notes), job.report.notes


def expected(program: str) -> list[tuple[str, int]]:
    """The codes and rows that comments of the program ask for."""
    lines = enumerate(program.splitlines(), start=1)
    return [(code, row) for row, line in lines for code in re.findall(r"# expect: (FSDP\d+)", line)]
