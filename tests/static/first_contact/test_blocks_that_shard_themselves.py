"""A block that its model asks to shard itself is no model in one group, also where it is looked at alone."""

from __future__ import annotations

from tests.static.program import HEAD, analyse

BLOCK = f"""{HEAD}

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(64, 64) for _ in range(8)])

    def forward(self, x):
        return sum(expert(x) for expert in self.experts)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.moe = Experts()

    def forward(self, x):
        return self.moe(x)

    def apply_fsdp(self, mesh, fine=False):
        if fine:
            fully_shard(self.moe, mesh=mesh)
        fully_shard(self, mesh=mesh)
"""
MODEL = """
from block import Block
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList([make() for make in [Block] * depth])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

    def apply_fsdp(self, mesh):
        for block in self.blocks:
            {each}
        fully_shard(self, mesh=mesh)
"""


def test_a_block_of_a_model_that_shards_in_turn() -> None:
    asked = {"block.py": BLOCK, "model.py": MODEL.replace("{each}", "block.apply_fsdp(mesh)")}
    assert "FSDP301" not in analyse(asked).codes
    assert "unknown" in analyse(asked).verdicts("FSDP301")
    alone = {"block.py": BLOCK.replace("        if fine:\n            fully_shard(self.moe, mesh=mesh)\n", "")}
    assert "FSDP301" in analyse(alone).codes
