"""Loops that go round as often as a drawn number says: within a forward FSDP405, around the whole model FSDP801."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse, script

RECYCLED = """
import random


class Recycled(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Net()

    def forward(self, x, rounds):
        for _ in range(rounds + 1):
            y = self.trunk(x)
        return y
"""
MAIN = """
dist.init_process_group("gloo")
{seed}
model = Recycled()
for layer in model.trunk.layers:
    fully_shard(layer)
fully_shard(model.trunk)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
data = torch.load("tokens.pt")
for step, x in enumerate(torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))):
    {rounds}
    model(x, rounds).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
OUTSIDE = MAIN.replace("    model(x, rounds)", "    for _ in range(rounds):\n        x = model(x, 2)\n    model(x, 2)")
BY_RANK, ALIKE = "random.seed(dist.get_rank())", "random.seed(0)"
DRAWN = "rounds = random.randint(0, 3)"
CASES = [
    (BY_RANK, DRAWN, "violated"),
    ("pass", DRAWN, "violated"),  # each process begins with a seed of its own
    (ALIKE, DRAWN, "upheld"),
    ("random.seed(int(os.environ['SEED']))", DRAWN, "upheld"),
    (BY_RANK, "rounds = random.Random(step).randint(0, 3)", "upheld"),
    (BY_RANK, "rounds = 3", "upheld"),
]


@pytest.mark.parametrize(("seed", "rounds", "verdict"), CASES)
def test_rounds_of_a_forward(seed: str, rounds: str, verdict: str) -> None:
    found = analyse(script(MAIN.format(seed=seed, rounds=rounds), net=NET + RECYCLED))
    assert ("FSDP405" in found.codes) is (verdict == "violated")


@pytest.mark.parametrize(("seed", "rounds", "verdict"), CASES)
def test_rounds_around_a_model(seed: str, rounds: str, verdict: str) -> None:
    found = analyse(script(OUTSIDE.format(seed=seed, rounds=rounds), net=NET + RECYCLED))
    assert ("FSDP801" in found.codes) is (verdict == "violated")
