"""A record counts steps, and another file counts it up: a condition on it is asked in every round, not in the first."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

PROGRESS = """
class Progress:
    def __init__(self):
        self.step, self.best = BEGINS, 9.0
"""
TRAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
progress = Progress()


def probe(step):
    if step % 50:
        return
    with torch.no_grad():
        print(model(torch.ones(2, 8)).sum().item())


def train_step():
    model(torch.ones(2, 8)).sum().backward()
    probe(progress.step + 1)
    optimizer.step()
    optimizer.zero_grad()
    COUNTS


while True:
    train_step()
"""


@pytest.mark.parametrize("begins", ["0", "1"])
@pytest.mark.parametrize(("counts", "expected"), [("progress.step += 1", "violated"), ("progress.best -= 1", "upheld")])
def test_what_is_done_every_fifty_steps(begins: str, counts: str, expected: str) -> None:
    """The probe leaves the root gathered between the backward and the step; one that is never counted is never 50."""
    files = {
        "train.py": script(TRAIN.replace("COUNTS", counts), "from progress import Progress"),
        "progress.py": PROGRESS.replace("BEGINS", begins),
    }
    found = analyse(files).verdicts("FSDP407")
    assert ("violated" in found) is (expected == "violated"), found
