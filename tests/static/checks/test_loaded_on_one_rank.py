"""FSDP203 in a whole program: what else happens before the first step, and gives no model its weights."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse

PROGRAM = """\
import os
import re
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

{net}


class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        self.rows = [line for line in Path(path).read_text().splitlines() if line.strip()]

    def __getitem__(self, at):
        return self.rows[at]


def from_main(value):
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def resume(model):
    latest = Path("run") / "latest"
    name = latest.read_text().strip() if dist.get_rank() == 0 and latest.exists() else None
    name = from_main(name)
    if name is not None:
        dcp.load({{"model": model.state_dict()}}, checkpoint_id="run/" + name)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = Net()
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load("weights.pt"))
    {between}
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    resume(model)
    for rows in torch.utils.data.DataLoader(Rows("rows.txt")):
        answers = [answer.strip() for answer in rows["answers"]]
        tokens = rows["tokens"].view(len(answers), -1).float().pow(2).mean(-1).rsqrt()
        model(tokens).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


main()
"""


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ("pass", "violated"),
        ("print(from_main('begun'))", "violated"),
        ("for parameter in model.parameters():\n        dist.broadcast(parameter.data, 0)", "unknown"),
        ("model.load_state_dict(from_main(model.state_dict()))", "unknown"),
    ],
)
def test_one_rank_alone_loads_what_is_sharded(between: str, verdict: str) -> None:
    assert analyse(PROGRAM.format(net=NET, between=between)).verdicts("FSDP203") == {verdict}
