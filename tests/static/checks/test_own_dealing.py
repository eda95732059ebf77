"""Samplers and data sets of a project that deal out by rank, and what a forward does with their batches."""

from __future__ import annotations

import pytest

from tests.static.checks.test_own_choices import STEP, said

DEALS = """
class Dealt:
    def __init__(self, count, rank, world):
        self.count, self.rank, self.world = count, rank, world

    def __iter__(self):
        {}

    def __len__(self):
        return self.count // self.world

sampler = Dealt(64, {}, dist.get_world_size())
"""
SKIPS = STEP.format(
    loader="DataLoader(data, {}=sampler)", before="if loss.item() > 100:\n        continue", after="pass"
)
BY_RANK = {
    "a slice": "return iter(list(range(self.count))[self.rank :: self.world])",
    "a range": "return iter(range(self.rank, self.count, self.world))",
    "one after the other": "for i in range(self.rank, self.count, self.world):\n            yield i",
    "all of a slice": "yield from sorted(order(self.count))[self.rank :: self.world]",
    "islice": "return itertools.islice(range(self.count), self.rank, None, self.world)",
}
PERHAPS = {
    "all": "return iter(range(self.count))",
    "a slice for all": "return iter(list(range(self.count))[2 :: self.world])",
    "on one way": (
        "if self.count > 9:\n            return iter(range(self.rank, self.count, self.world))\n"
        "        return iter(range(self.count))"
    ),
    "not known": "return deal(self.rank, self.world)",
    "a range of its own": "range = deal\n        return iter(range(self.rank, self.count, self.world))",
}


def skipped(body: str, rank: str = "dist.get_rank()", keyword: str = "sampler") -> bool:
    helper = "import itertools\nfrom helper_lib import deal, order\n"
    return "FSDP801" in said(helper + DEALS.format(body, rank) + SKIPS.format(keyword)).codes


@pytest.mark.parametrize("name", BY_RANK)
def test_each_rank_has_its_own(name: str) -> None:
    assert skipped(BY_RANK[name])


@pytest.mark.parametrize("name", PERHAPS)
def test_the_ranks_may_have_the_same(name: str) -> None:
    assert not skipped(PERHAPS[name])


def test_batches_of_a_sampler_and_a_number_that_is_no_rank() -> None:
    assert skipped(BY_RANK["a slice"], keyword="batch_sampler")
    assert not skipped(BY_RANK["a slice"], rank="0")
    assert not skipped(BY_RANK["a slice"], rank='int(os.environ["LOCAL_RANK"])')


GENERATES = """
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def write(self, x, most):
        done = torch.zeros(len(x), dtype=torch.bool)
        for _ in range(most):
            x = self.layer(x)
            done |= x.argmax(-1) == 3
            {}
                break
        return x

writer = Writer()
fully_shard(writer.layer)
fully_shard(writer)
register_fsdp_forward_method(writer, "write")
for x, y in loader:
    if os.environ.get("LONG"):
        writer.write(x, {})
"""
ENDS = {
    "its own batch": ("if done.all():", {"FSDP405"}),
    "all have agreed": ("left = (~done).sum()\n            dist.all_reduce(left)\n            if left == 0:", set()),
    "a setting": ('if os.environ.get("SHORT"):', set()),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("most", ["3", 'int(os.environ["MOST"])'])
def test_a_loop_of_a_forward_that_a_rank_leaves(name: str, most: str) -> None:
    ends, codes = ENDS[name]
    text = "from torch.distributed.fsdp import register_fsdp_forward_method\n" + GENERATES.format(ends, most)
    assert set(said(text).codes) & {"FSDP405", "FSDP801"} == codes
