"""Ranks that bring a copy together have what they had; those that bring the number itself together agree."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler


class Board:
    def __init__(self):
        self.total = torch.zeros(2)

    def add(self, value):
        self.total[0] += value
        self.total[1] += 1

    def merged(self):
        total = GIVEN
        dist.all_reduce(total)
        return (total[0] / total[1]).item()

    def mean(self):
        return (self.total[0] / self.total[1]).item()
"""
PROGRAM = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
schedule = ReduceLROnPlateau(optimizer)
data = torch.load("data.pt")
sampler = DistributedSampler(data, seed=1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    board = Board()
    for batch in DataLoader(data, sampler=sampler):
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        board.add(loss.detach())
    print(board.merged())
    schedule.step(board.STEPPED())
"""


@pytest.mark.parametrize(
    ("given", "stepped", "violated"),
    [
        ("self.total.clone()", "mean", True),
        ("self.total.clone()", "merged", False),
        ("self.total", "mean", False),
        ("self.total.detach()", "mean", False),
        ("self.total[:]", "mean", False),
    ],
    ids=["a copy", "the copy is used", "the number itself", "the same memory", "a view"],
)
def test_what_the_ranks_step_by(given: str, stepped: str, violated: bool) -> None:
    text = script(PROGRAM.replace("STEPPED", stepped), IMPORTS.replace("GIVEN", given))
    assert ("FSDP617" in analyse(text).codes) is violated
