"""What makes the things that a loop goes through is no round of it: FSDP806 is silent about a collective in there."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

CHECKS = """
def reduces(rank):
    ones = torch.ones(4)
    dist.all_reduce(ones)
    if ones[0].item() != dist.get_world_size():
        yield "all_reduce"


def writes(rank):
    if rank == 0:
        yield "no folder"
"""
SHARDED = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
rank = dist.get_rank()
"""
MAKING = [
    "said = [text for check in (writes, reduces) for text in check(rank)]",
    "for text in reduces(rank):\n    print(text)",
]
ROUNDS = "for text in writes(rank):\n    ones = torch.ones(4) * len(text)\n    dist.all_reduce(ones)"


@pytest.mark.parametrize("loop", MAKING)
def test_it_makes_what_the_loop_goes_through(loop: str) -> None:
    assert "FSDP806" not in analyse(script(SHARDED + loop, CHECKS)).codes


def test_it_lies_in_the_rounds() -> None:
    assert "FSDP806" in analyse(script(SHARDED + ROUNDS, CHECKS)).codes
