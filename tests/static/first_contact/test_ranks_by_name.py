"""Ranks that are read from the environment in one go, each by its own name."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

START = """
{ranks}
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""
SAVE = "dcp.save({'model': model.state_dict()}, checkpoint_id='out')\n"
NAMES = '("RANK", "LOCAL_RANK", "WORLD_SIZE")'
RANKS = {
    "a generator": f"rank, local_rank, world = (int(os.environ[name]) for name in {NAMES})",
    "a list": f"rank, local_rank, world = [int(os.environ[name]) for name in {NAMES}]",
    "a list by position": f"ranks = [int(os.environ[name]) for name in {NAMES}]\nrank, local_rank = ranks[0], ranks[1]",
    "pairs": "rank, local_rank = (int(os.environ.get(n, d)) for n, d in [('RANK', 0), ('LOCAL_RANK', 0)])",
}


def codes(ranks: str, then: str) -> list[str]:
    return analyse(script(START.format(ranks=ranks) + then, "import torch.distributed.checkpoint as dcp")).codes


@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
def test_each_name_has_its_own_value(ranks: str) -> None:
    assert codes(ranks, f"if rank == 0:\n    {SAVE}") == ["FSDP801"]
    assert codes(ranks, f"if rank == 0:\n    print('saving')\n{SAVE}") == []


def test_some_of_them_are_no_list_by_position() -> None:
    """Which are left is not known, so none of them is the first."""
    ranks = f"rank, *_ = [int(os.environ[name]) for name in {NAMES} if name in os.environ]\nlocal_rank = 0"
    assert "FSDP801" not in codes(ranks, f"if rank == 0:\n    {SAVE}")


@pytest.mark.parametrize("name", ["name", "prefix + '_RANK'", "sys.argv[1]"])
def test_a_variable_of_unknown_name_may_be_a_rank(name: str) -> None:
    before = "import sys\nimport torch.distributed.checkpoint as dcp\nfrom names import name, prefix\n"
    ranks = f"number = int(os.environ[{name}])\nlocal_rank = int(os.environ['LOCAL_RANK'])"
    seen = analyse(script(START.format(ranks=ranks) + f"if number == 0:\n    {SAVE}", before))
    assert seen.codes == []
    assert {each.words["FSDP801"] for each in seen.result.seen if "FSDP801" in each.words} == {"unknown"}
