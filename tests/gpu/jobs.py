"""Jobs on GPUs for tests: a script under the real torchrun, with and without ``run --check``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.folders import choose
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.report.rank_file import rank_files, records

ROOT = Path(__file__).parents[2]
STEPS = 3  # that are watched

# A small model and its job. Only SETUP and LOOP differ between the tests' scripts.
HEAD = '''\
import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim, bias=False)
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, dim=64, depth=4):
        super().__init__()
        self.first = nn.Linear(32, dim, bias=False)
        self.layers = nn.ModuleList(Block(dim) for _ in range(depth))
        self.last = nn.Linear(dim, 32, bias=False)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def shard(model, **policy):
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    for block in model.layers:
        fully_shard(block, mesh=mesh, **policy)
    fully_shard(model, mesh=mesh, **policy)
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def batches(steps):
    """On the GPU before the first step: a copy from plain memory would synchronise by itself."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    return [torch.randn(8, 32, generator=generator).to("cuda") for _ in range(steps)]


def step(model, optimizer, x):
    loss = F.mse_loss(model(x).float(), x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


def leave(values):
    """What the test reads."""
    torch.cuda.synchronize()
    with open(sys.argv[1] + f".{dist.get_rank()}", "w") as file:
        json.dump(values, file)


local_rank = int(os.environ["LOCAL_RANK"])
'''

TAIL = """
dist.barrier()
dist.destroy_process_group()
"""


def script(folder: Path, body: str) -> Path:
    path = folder / "train.py"
    path.write_text(HEAD + body + TAIL, encoding="utf-8")
    return path


def row_of(path: Path, text: str) -> int:
    """The one row of a script that holds a text."""
    (row,) = (number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line)
    return row


@dataclass(frozen=True)
class Ran:
    """What became of a job. ``left`` is what each rank's script wrote for the test; None where it did not."""

    code: int
    output: str
    left: list[Any]
    folder: Path

    @property
    def report(self) -> JobReport:
        return read_job(choose(self.folder).folder, registry.rules())

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [
            record
            for path in rank_files(choose(self.folder).folder)
            for record in records(path)
            if record["record"] == kind
        ]

    def codes(self) -> set[str]:
        return {each.code for each in self.report.findings}

    def rows(self, code: str) -> set[int]:
        return {each.primary.site.row for each in self.report.findings if each.code == code}


def torchrun(path: Path, *, ranks: int, watched: bool, select: str = "", timeout: float = 300.0) -> Ran:
    """Run a script on so many ranks of this machine, one GPU for each as far as they reach."""
    name = "watched" if watched else "plain"
    folder, left = path.parent / f"report-{name}", path.parent / f"left-{name}"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    if watched:
        command += ["-m", "fsdp2_lint", "run", "--check", "--steps", str(STEPS), "--report-dir", str(folder)]
        command += ["--select", select] if select else []
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
        "OMP_NUM_THREADS": "1",
        "FSDP2_LINT_DEBUG": "",
        # What makes two runs bitwise the same.
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "NCCL_ALGO": "Ring",
        "NCCL_PROTO": "Simple",
    }
    job = subprocess.run(
        [*command, str(path), str(left)],
        env=environment,
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    files = [Path(f"{left}.{rank}") for rank in range(ranks)]
    values = [json.loads(file.read_text()) if file.exists() else None for file in files]
    return Ran(job.returncode, job.stdout + job.stderr, values, folder)
