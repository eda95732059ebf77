"""FSDP811 of a permutation of which each rank takes its part, wherever in the code that is."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SHARDED = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
rank, world = dist.get_rank(), dist.get_world_size()
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
rows = torch.load("rows.pt")
"""


@pytest.mark.parametrize(
    ("order", "word"),
    [
        ("torch.randperm(len(rows), generator=torch.Generator().manual_seed(SEED))", "violated"),
        ("torch.randperm(len(rows), generator=torch.Generator().manual_seed(3))", None),
        ("torch.randperm(len(rows), generator=mystery.generator())", None),
        ("torch.randperm(len(rows), generator=torch.Generator().manual_seed(SEED))[: len(rows) // 2]", "violated"),
        ("torch.rand(len(rows), generator=torch.Generator().manual_seed(SEED))", None),
    ],
)
@pytest.mark.parametrize("part", ["[rank::world]", "[rank * 8 : (rank + 1) * 8]"])
def test_each_rank_takes_its_part(order: str, word: str | None, part: str) -> None:
    drawn = order.replace("SEED", "3 + rank")
    body = f"{SHARDED}order = {drawn}\nmodel(rows[order{part}])\n"
    assert analyse(script(body, "import mystery\n")).verdicts("FSDP811") == ({word} if word else set())


@pytest.mark.parametrize(
    ("seed", "words"),
    [("torch.manual_seed(3 + rank)\n", {"violated"}), ("torch.manual_seed(3)\n", {"unknown"}), ("", {"unknown"})],
)
def test_a_permutation_of_the_common_generator(seed: str, words: set[str]) -> None:
    body = f"{SHARDED}{seed}order = torch.randperm(len(rows))\nmodel(rows[order[rank::world]])\n"
    assert analyse(script(body)).verdicts("FSDP811") == words
