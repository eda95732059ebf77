"""What a rank adds up in one place of a container is its own, until the ranks bring it together (FSDP617)."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

IMPORTS = """
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from theirs import reduced

def mean(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
data = TensorDataset(torch.randint(0, 9, (64, 8)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    held = {start}
    for (x,) in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        held[{key}] += {added}
    {after}
    plateau.step({asked})
"""
TENSOR = ("torch.zeros(2, device='cuda')", "0", "loss.detach()")
DICT = ("{'loss': 0.0}", "'loss'", "loss.item()")
TENSORS = ("{'loss': torch.zeros(1)}", "'loss'", "loss.detach()")
LIST = ("[0.0, 0]", "0", "loss.item()")


def codes(place: tuple[str, str, str], after: str, asked: str) -> list[str]:
    start, key, added = place
    text = TRAIN.format(start=start, key=key, added=added, after=after, asked=asked)
    return analyse(main(SHARDED + text, IMPORTS)).codes


@pytest.mark.parametrize(
    ("place", "asked"),
    [(TENSOR, "held[0].item()"), (TENSOR, "(held[0] / held[1]).item()"), (DICT, "held['loss']"), (LIST, "held[0]")],
)
def test_each_rank_asks_for_what_it_alone_added(place: tuple[str, str, str], asked: str) -> None:
    assert codes(place, "pass", asked) == ["FSDP617"]


@pytest.mark.parametrize(
    ("place", "after", "asked"),
    [
        (TENSOR, "dist.all_reduce(held)", "held[0].item()"),
        (TENSOR, "dist.all_reduce(held[0])", "held[0].item()"),
        (TENSOR, "both = held.clone()\n    dist.all_reduce(both)", "both[0].item()"),
        (TENSOR, "dist.broadcast(held, 0)", "(held[0] / held[1]).item()"),
        (DICT, "held = reduced(held)", "held['loss']"),
        (DICT, "held['loss'] = reduced(held['loss'])", "held['loss']"),
        (TENSORS, "for value in held.values():\n        dist.all_reduce(value)", "held['loss'].item()"),
        (TENSORS, "held = {key: mean(value) for key, value in held.items()}", "held['loss'].item()"),
        (LIST, "held = torch.tensor(held)\n    dist.all_reduce(held)", "(held[0] / held[1]).item()"),
    ],
)
def test_the_ranks_bring_it_together(place: tuple[str, str, str], after: str, asked: str) -> None:
    assert codes(place, after, asked) == []


METER = """
from collections import defaultdict

class Meter:
    def __init__(self):
        self.sums = defaultdict(lambda: torch.zeros(2, device="cuda"))

    def add(self, name, total, weight):
        entry = self.sums[name]
        entry[0] += total
        entry[1] += weight

    def means(self):
        found = {}
        for name in sorted(self.sums):
            pair = self.sums[name].clone()
            dist.all_reduce(pair)
            found[name] = (pair[0] / pair[1]).item()
        return found

    def own(self):
        return {name: (pair[0] / pair[1]).item() for name, pair in self.sums.items()}

    def brought_together(self):
        for pair in self.sums.values():
            dist.all_reduce(pair)
        return self.own()
"""
METERED = """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
data = TensorDataset(torch.randint(0, 9, (64, 8)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    meter = Meter()
    for (x,) in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        meter.add("loss", loss.detach(), 8)
    plateau.step({})
"""


@pytest.mark.parametrize(("asked", "found"), [
    ("meter.own()['loss']", ["FSDP617"]),
    ("meter.sums['loss'][0].item()", ["FSDP617"]),
    ("meter.means()['loss']", []),
    ("meter.brought_together()['loss']", []),
])  # fmt: skip
def test_a_tensor_is_added_to_under_another_name(asked: str, found: list[str]) -> None:
    assert analyse(main(SHARDED + METERED.format(asked), IMPORTS + METER)).codes == found
