"""Samplers and data sets of the project: by which rank they deal out, and by which seed the items were in order."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

OWN = """
import random
import numpy as np
from torch.utils.data import DataLoader, IterableDataset, Sampler


class Strided(Sampler):
    def __init__(self, size, rank, world, seed, shuffle=True):
        self.size, self.rank, self.world, self.seed, self.shuffle = size, rank, world, seed, shuffle
        self.epoch = 0

    def plan(self):
        order = list(range(self.size))
        ORDER
        return order

    def __iter__(self):
        mine = self.plan()[self.rank :: self.world]
        AFTER
        return iter(mine)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((8,), float(index))
"""
TRAIN = """
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(Numbers(), batch_size=4, sampler=Strided(64, GIVEN))
for batch in loader:
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ORDERS = {
    "python": "random.Random(self.seed + self.epoch).shuffle(order)",
    "numpy": "rng = np.random.default_rng((self.seed, self.epoch))\n        order = rng.permutation(order).tolist()",
    "torch": "g = torch.Generator()\n        g.manual_seed(self.seed)\n"
    "        order = torch.randperm(64, generator=g).tolist()",
    "where it shuffles": "if self.shuffle:\n            random.Random(self.seed).shuffle(order)",
}
SAME = "rank, world, 1"
APART = "rank, world, 1 + rank"


def verdicts(code: str, given: str, order: str, after: str = "pass") -> set[str]:
    own = OWN.replace("ORDER", order).replace("AFTER", after)
    return analyse(script(TRAIN.replace("GIVEN", given), own)).verdicts(code)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("given", "expected"), [(SAME, "unknown"), (APART, "violated")])
def test_a_seed_by_which_the_items_are_put_in_order(order: str, given: str, expected: str) -> None:
    assert verdicts("FSDP811", given, ORDERS[order]) == {expected}


def test_what_each_rank_does_with_its_own_part() -> None:
    own = "random.Random(self.seed).shuffle(mine)"
    assert verdicts("FSDP811", APART, "pass", own) == {"unknown"}


@pytest.mark.parametrize(
    "order",
    [
        "if self.shuffle:\n            random.Random(self.seed).shuffle(order)",
        "g = torch.Generator().manual_seed(self.seed)\n        if self.shuffle:\n"
        "            order = torch.randperm(64, generator=g).tolist()",
    ],
)
def test_it_does_not_shuffle(order: str) -> None:
    assert verdicts("FSDP811", f"{APART}, shuffle=False", order) == {"unknown"}


def test_a_method_that_the_class_writes_anew() -> None:
    """What its base would do to the order is not done."""
    own = OWN.replace("ORDER", ORDERS["python"]).replace("AFTER", "pass")
    own += "\n\nclass Plain(Strided):\n    def plan(self):\n        return list(range(self.size))\n"
    train = TRAIN.replace("Strided(64, GIVEN)", f"Plain(64, {APART})")
    assert analyse(script(train, own)).verdicts("FSDP811") == {"unknown"}


NESTED = """
class World:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size


class Shared(Strided):
    def __init__(self, size, world, seed):
        self.size, self.world, self.seed, self.epoch = size, world, seed, 0

    def __iter__(self):
        return iter(self.plan()[self.world.rank :: self.world.size])
"""


@pytest.mark.parametrize(("seed", "word"), [("1 + rank", "violated"), ("1", "unknown")])
def test_the_rank_of_an_object_that_it_keeps(seed: str, word: str) -> None:
    own = OWN.replace("ORDER", ORDERS["python"]).replace("AFTER", "pass") + NESTED
    train = TRAIN.replace("Strided(64, GIVEN)", f"Shared(64, World(rank, world), {seed})")
    assert analyse(script(train, own)).verdicts("FSDP811") == {word}


LOCAL = {
    "the rank on the node": ("local, world, 1", True),
    "the rank in the job": ("rank, world, 1", False),
    "each node deals out for itself": ('local, int(os.environ["LOCAL_WORLD_SIZE"]), 1', False),
    "of some parts": ("local, 8, 1", False),
}


@pytest.mark.parametrize("name", LOCAL)
def test_all_ranks_of_the_job_share_by_the_rank_on_the_node(name: str) -> None:
    given, violated = LOCAL[name]
    assert ("violated" in verdicts("FSDP808", given, ORDERS["python"])) is violated
