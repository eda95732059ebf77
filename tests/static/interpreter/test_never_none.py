"""What torch makes of tensors is never None: a branch that asks for that is dead."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
dist.init_process_group("nccl")
model = Net()
{asked}
if asked is None:
    optimizer = torch.optim.AdamW(model.parameters())
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""


@pytest.mark.parametrize(
    ("asked", "alive"),
    [
        ("asked = torch.randperm(8)", False),
        ("asked = torch.stack([torch.zeros(8), torch.ones(8)]).mean(0)[1:].exp().item()", False),
        ("asked = torch.cat([torch.zeros(8)])\nfor asked in asked: pass", False),
        ("asked = len(os.environ) * 2", False),
        ("asked = torch.zeros(8).grad", True),
        ("asked = model.embed.weight.grad", True),
        ("asked = os.environ.get('X')", True),
    ],
)
def test_asked_for_none(asked: str, alive: bool) -> None:
    assert ("FSDP601" in analyse(script(MAIN.format(asked=asked))).codes) is alive
