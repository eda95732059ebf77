"""Loaders that a function of the project reads and hands on, batch by batch: the training is what reads them."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
from itertools import islice
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def windows(loader, size):
    found = []
    for batch in loader:
        found.append(batch)
        if len(found) == size:
            yield found
            found = []

"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
data = TensorDataset(torch.randint(0, 9, (64, 8)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
for epoch in range(3):
    {told}
    for window in {read}:
        for (x,) in window:
            model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
READ = ["windows(loader, 2)", "islice(windows(loader, 2), epoch, None)", "islice(windows(loader, 2), 4)"]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize(("told", "verdict"), [("pass", "violated"), ("sampler.set_epoch(epoch)", "upheld")])
def test_the_same_order_in_each_epoch(read: str, told: str, verdict: str) -> None:
    text = main(SHARDED + TRAIN.format(told=told, read=read), HELPERS)
    assert analyse(text).verdicts("FSDP809") == {verdict}


def test_a_loader_that_nobody_was_seen_to_read() -> None:
    text = TRAIN.format(told="from unseen import read", read="read(loader)")
    assert analyse(main(SHARDED + text, HELPERS)).verdicts("FSDP809") == {"unknown"}


ASKED = """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
from unseen import data
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
for (window,) in windows(loader, 1):
    model(window["x"]).sum().backward()
    optimizer.step()
    if {}:
        dist.broadcast(torch.zeros(1), 0)
"""


@pytest.mark.parametrize("asked", ["'more' in window", "hasattr(window, 'more')", "isinstance(window, dict)", "window"])
def test_of_which_kind_a_batch_is(asked: str) -> None:
    """All batches of a data set may well be of one kind."""
    assert analyse(main(SHARDED + ASKED.format(asked), HELPERS)).verdicts("FSDP801") == {"unknown"}


@pytest.mark.parametrize("asked", ["7 in window['x']", "window['x'].max() > 7"])
def test_what_a_batch_holds(asked: str) -> None:
    assert analyse(main(SHARDED + ASKED.format(asked), HELPERS)).verdicts("FSDP801") == {"violated"}
