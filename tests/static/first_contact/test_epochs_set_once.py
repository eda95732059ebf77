"""An epoch that is set before all rounds is one epoch for all of them (FSDP809)."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

IMPORTS = """
import itertools
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from theirs import keep
"""
TRAIN = """
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
sampler = DistributedSampler(data, seed=1)
loader = DataLoader(data, batch_size=8, sampler=sampler)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

def step(batch):
    rows, targets = batch
    F.mse_loss(model(rows), targets).backward()
    optimizer.step()
    optimizer.zero_grad()

def endless(epoch=0):
    {first}
    while True:
        {each}
        for batch in loader:
            yield batch
        epoch += 1

{rounds}
"""
ENDLESS = "for _, batch in zip(range(100), endless()):\n    step(batch)\n"
NESTED = """
for restart in range(2):
    {outer}
    for epoch in range(3):
        {inner}
        for batch in loader:
            step(batch)
"""
SET = "sampler.set_epoch(epoch)"


def found(first: str = "pass", each: str = "pass", rounds: str = ENDLESS) -> bool:
    return "FSDP809" in analyse(main(SHARDED + TRAIN.format(first=first, each=each, rounds=rounds), IMPORTS)).codes


@pytest.mark.parametrize("first", ["pass", SET, "loader.sampler.set_epoch(epoch)"])
def test_set_once(first: str) -> None:
    assert found(first)


def test_set_in_each_round() -> None:
    assert not found(each=SET) and not found(SET, SET)


@pytest.mark.parametrize(("outer", "inner"), [("sampler.set_epoch(restart)", "pass"), ("pass", SET)])
def test_set_in_some_of_the_loops(outer: str, inner: str) -> None:
    """In the outer one alone it is another epoch now and then: that is said to be no fault."""
    assert not found(rounds=NESTED.format(outer=outer, inner=inner))


def test_set_in_none_of_them() -> None:
    assert found(rounds="sampler.set_epoch(1)\n" + NESTED.format(outer="pass", inner="pass"))


def test_the_next_epoch_is_set_where_one_ends() -> None:
    rounds = """
epoch = 0
sampler.set_epoch(epoch)
batches = iter(loader)
for _ in range(100):
    try:
        batch = next(batches)
    except StopIteration:
        epoch += 1
        sampler.set_epoch(epoch)
        batches = iter(loader)
    step(batch)
"""
    assert not found(rounds=rounds)
