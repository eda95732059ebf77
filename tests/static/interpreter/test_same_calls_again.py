"""The same call of a helper, before and after a model is sharded or emptied: what it did at first says nothing."""

from __future__ import annotations

from tests.static.program import analyse, script

TABLES = """\
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.register_buffer("table", torch.empty(4), persistent=False)
        self.fill_table()

    def fill_table(self):
        self.table.copy_(torch.arange(4))

    def init_weights(self):
        for block in self.blocks:
            block.reset_parameters()
        AGAIN

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x * self.table


with torch.device("meta"):
    model = Net()
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
model.to_empty(device="cuda")
model.init_weights()
model(torch.randn(2, 4))
"""


def test_buffers_that_are_filled_again_by_the_call_that_filled_them() -> None:
    assert analyse({"train.py": TABLES.replace("AGAIN", "self.fill_table()")}).verdicts("FSDP204") == {"upheld"}
    assert analyse({"train.py": TABLES.replace("AGAIN", "pass")}).verdicts("FSDP204") == {"violated"}


def test_a_row_that_is_changed_before_and_after_sharding() -> None:
    text = script(
        """
        model = Net()
        pad(model)
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        pad(model)
        """,
        "def pad(model):\n    with torch.no_grad():\n        model.head.weight[0].zero_()\n",
    )
    assert analyse(text).codes == ["FSDP205"]
