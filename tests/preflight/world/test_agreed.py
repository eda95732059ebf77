"""What a collective leaves alike on all ranks is alike on those that are rehearsed, and what each has alone is not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.preflight.part import Asked
from fsdp2_lint.report.outcome import JobReport
from tests.preflight.rehearsals import rehearsed

pytestmark = pytest.mark.torchrun
REAL, STEP = Asked(depth="real", steps=3), Asked(depth="step", steps=2)

JOB = """
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.fsdp import fully_shard


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    for part in (model[0], model[2]):
        fully_shard(part)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    own = torch.Generator().manual_seed(dist.get_rank())
    common = torch.randn(8, 16, generator=torch.Generator().manual_seed(7))
    for step in range(6):
        x = torch.randn(8, 16, generator=own)
        loss = F.mse_loss(model(x).squeeze(-1), x.sum(1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        DECIDE
        if value < LIMIT:
            dcp.save({"model": get_model_state_dict(model)}, checkpoint_id="best")
    dist.destroy_process_group()


main()
"""
OF_THE_GATHERED_WEIGHTS = """
        with torch.no_grad():
            value = F.mse_loss(model(common).squeeze(-1), common.sum(1)).item()
        limit = 0.999 * value if step == 0 else limit
"""
REDUCED = """
        total = loss.detach()
        dist.all_reduce(total)
        value = total.item()
        limit = 0.999 * value if step == 0 else limit
"""
SMALLEST = """
        room = torch.tensor(10 if dist.get_rank() == 0 else 20)
        dist.all_reduce(room, op=dist.ReduceOp.MIN)
        value, limit = room.item(), 15
"""
GATHERED = """
        rooms = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(rooms, torch.tensor([float(dist.get_rank())]))
        value, limit = rooms[-1].item(), 1
"""
OF_A_NORM = """
        value = next(model.parameters()).norm().full_tensor().item()
        limit = 0.999999 * value if step == 0 else limit
"""
OWN = """
        value, limit = loss.item(), 0.5 + dist.get_rank() * 100
"""


def outcome(tmp_path: Path, decide: str, asked: Asked) -> JobReport:
    script = tmp_path / "train.py"
    script.write_text(JOB.replace("        DECIDE\n", decide.lstrip("\n")).replace("LIMIT", "limit"))
    return rehearsed(script, tmp_path / "report", size=4, asked=asked)


DECISIONS = {
    "the gathered weights": OF_THE_GATHERED_WEIGHTS,
    "a reduced loss": REDUCED,
    "the smallest": SMALLEST,
    "what was gathered": GATHERED,
    "a norm of DTensors": OF_A_NORM,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decide", "asked"),
    [
        pytest.param(words, asked, id=f"{name}-{asked.depth}")
        for name, words in DECISIONS.items()
        for asked in (REAL, STEP)
    ],
)
def test_ranks_that_decide_by_what_they_have_in_common_go_the_same_way(
    tmp_path: Path, decide: str, asked: Asked
) -> None:
    report = outcome(tmp_path, decide, asked)
    assert not report.stopped
    assert not report.findings


@pytest.mark.slow
def test_ranks_that_decide_by_their_own_part(tmp_path: Path) -> None:
    assert [each.code for each in outcome(tmp_path, OWN, REAL).findings] == ["FSDP801"]
    assert not list(tmp_path.glob("report/*/sent"))  # nothing of what they had in common is left
