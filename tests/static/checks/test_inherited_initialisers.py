"""A class that derives from one of torch and has no ``__init__`` of its own is built by that of torch."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

HEAD = """\
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Own(torch.optim.BASE):
    def step(self, closure=None):
        return super().step(closure)


class Blocks(nn.ModuleList):
    def shard(self):
        for block in self:
            fully_shard(block)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = Blocks([nn.Linear(4, 4) for _ in range(2)])
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Net()
"""
TRAIN = """
for _ in range(2):
    model(torch.zeros(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize("base", ["SGD", "AdamW", "Optimizer"])
def test_an_optimizer(base: str) -> None:
    made, sharded = "optimizer = Own(model.parameters(), {})\n", "model.blocks.shard()\nfully_shard(model)\n"
    head = HEAD.replace("BASE", base)
    assert analyse({"train.py": head + made + sharded + TRAIN}).codes == ["FSDP601"]
    after = analyse({"train.py": head + sharded + made + TRAIN})
    assert after.codes == [] and after.verdicts("FSDP601") == {"upheld"}


def test_a_list_of_modules() -> None:
    text = HEAD.replace("BASE", "SGD") + "model.blocks.shard()\noptimizer = Own(model.parameters(), 0.1)\n" + TRAIN
    assert analyse({"train.py": text}).codes == ["FSDP303"]
