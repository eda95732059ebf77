"""FSDP809 where batches are handed on as keywords, and another loader is read: nobody saw what the model gets."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, START, main
from tests.static.program import analyse

HELPERS = """
from torch.utils.data import DataLoader, DistributedSampler
import unseen


def windows(loader, size):
    held = []
    for batch in loader:
        held.append(batch)
        if len(held) == size:
            yield held
            held = []
"""
TRAINED = """
optimizer = torch.optim.AdamW(model.parameters())
train = DataLoader(unseen.data, sampler=DistributedSampler(unseen.data))
held_out = DataLoader(unseen.rest, sampler=DistributedSampler(unseen.rest, shuffle=False))
for epoch in range(3):
    EPOCH
    for window in windows(train, 4):
        for batch in window:
            model(**batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    for batch in held_out:
        with torch.no_grad():
            model(**batch)
"""


@pytest.mark.parametrize(("epoch", "expected"), [("pass", "unknown"), ("train.sampler.set_epoch(epoch)", "upheld")])
def test_what_the_model_is_given_as_keywords(epoch: str, expected: str) -> None:
    text = START + SHARDED + TRAINED.replace("EPOCH", epoch)
    assert analyse(main(text, HELPERS)).verdicts("FSDP809") == {expected}
