"""FSDP303 is upheld where the root's own call takes whatever is left, on every path and with every parameter."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BEFORE = "from torch.distributed.fsdp import FSDPModule\nfrom unseen_package import keeps, options\n"
MAIN = """
dist.init_process_group("nccl")
model = Net()
{}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
BLOCKS = "for layer in model.layers:\n    fully_shard(layer)\n"
PROVED = {
    "blocks and root": f"{BLOCKS}fully_shard(model)",
    "the root alone": "fully_shard(model)",
    "both or none": f"if not os.environ.get('SHARD'):\n    return\n{BLOCKS}fully_shard(model)",
}
NOT_PROVED = {
    "the root on some paths": f"{BLOCKS}if os.environ.get('ROOT'):\n    fully_shard(model)",
    "the blocks on more paths": f"if os.environ.get('ROOT'):\n    fully_shard(model)\n{BLOCKS}",
    "some are ignored": f"{BLOCKS}fully_shard(model, ignored_params={{model.head.weight}})",
    "options that are not seen": f"{BLOCKS}fully_shard(model, **options())",
    "a part that comes later": f"{BLOCKS}fully_shard(model)\nmodel.head = nn.Linear(64, 10)",
    "a filter that is not seen": "for part in model.modules():\n    if keeps(part):\n        fully_shard(part)",
    "no root": BLOCKS,
}


def verdicts(sharding: str) -> set[str]:
    return analyse(script(MAIN.format(sharding), BEFORE)).verdicts("FSDP303")


@pytest.mark.parametrize("name", PROVED)
def test_it_is_proved(name: str) -> None:
    assert verdicts(PROVED[name]) == {"upheld"}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_it_is_not(name: str) -> None:
    assert "upheld" not in verdicts(NOT_PROVED[name])
