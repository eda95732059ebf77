"""Commands on gloo ranks, as ``torchrun -m fsdp2_lint run ...`` would start them, without the seconds that it takes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fsdp2_lint.runtime.launch.ranks import run_ranks

HEAD = """\
import os
import sys
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
        self.head = nn.Linear(16, 32)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batch(step):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randint(32, (8,), generator=generator)


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def train(model, optimizer, steps=3):
    for step in range(steps):
        nn.functional.cross_entropy(model(batch(step)), batch(step)).backward()
        optimizer.step()
        optimizer.zero_grad()


"""
"""The beginning of the programs: a small model, and ways to shard and to train it."""

GOOD = HEAD + "model = shard(Net())\ntrain(model, torch.optim.SGD(model.parameters(), lr=0.1))\n"
STALE = (
    HEAD
    + "model = Net()\n"
    + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    + "shard(model)\n"
    + "train(model, optimizer)\n"
)


def row(program: str, text: str) -> int:
    """The row, from 1, of the only line that begins with ``text``."""
    (found,) = [number for number, line in enumerate(program.splitlines(), start=1) if line.startswith(text)]
    return found


REPORT = "fsdp2-lint-report"


def job_folder(folder: Path) -> Path:
    """Where the only job that was run in ``folder`` has its report."""
    (job,) = (folder / REPORT).iterdir()
    return job


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def command(folder: Path, *arguments: object, ranks: int = 2, timeout: float = 60.0) -> list[Ran]:
    """What the command line comes to on each rank, with ``folder`` as the current one."""
    outcomes = run_ranks(_command, ranks, str(folder), [str(each) for each in arguments], timeout=timeout)
    return [
        Ran(each.code, (folder / f"out{each.rank}.txt").read_text(), (folder / f"err{each.rank}.txt").read_text())
        for each in outcomes
    ]


def _command(folder: str, arguments: list[str]) -> None:
    from fsdp2_lint import cli

    os.chdir(folder)
    for number, name in ((1, "out"), (2, "err")):
        descriptor = os.open(f"{name}{os.environ['RANK']}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
    sys.path.insert(0, "")  # what a script's folder replaces
    raise SystemExit(cli.invoke(arguments))
