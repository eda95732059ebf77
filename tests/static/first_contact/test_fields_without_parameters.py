"""What a module keeps beside its layers has no parameters: its size is that of its layers."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

NET = """
import logging, random, re, threading, time
import numpy as np
from elsewhere import Tower

class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(4)])
        self.kept = {kept}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
RUN = """
model = Kept().cuda()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(10):
    model(torch.randn(4, 64, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
NOTHING = [
    "torch.Generator().manual_seed(0)",
    "torch.arange(64)",
    "torch.cuda.Stream()",
    "threading.Lock()",
    "random.Random(0)",
    "np.random.default_rng(0)",
    "np.zeros(64)",
    'logging.getLogger("net")',
    're.compile("x")',
    "time.perf_counter()",
    "nn.Parameter(1e-4 * torch.ones(64))",
    "nn.Parameter(torch.ones(64) * 1e-4)",
]


def moved_whole(kept: str) -> bool:
    return "FSDP206" in analyse(main(RUN, NET.format(kept=kept))).codes


@pytest.mark.parametrize("kept", NOTHING)
def test_no_part_of_its_size(kept: str) -> None:
    assert not moved_whole(kept)


@pytest.mark.parametrize(
    "kept",
    [
        "Tower(sys.argv[1])",
        "torch.compile(Tower(sys.argv[1]))",
        "random.choice([Tower(sys.argv[1]), Tower(sys.argv[2])])",
        "nn.Linear(40000, 40000)",
        "nn.Parameter(0.1 * torch.ones(40000, 40000))",
    ],
)
def test_parts_that_may_be_large(kept: str) -> None:
    assert moved_whole(kept)


PAIRS = """
from itertools import pairwise

def dense(*widths):
    parts = []
    for given, made in pairwise(widths):
        parts += [nn.Linear(given, made), nn.GELU()]
    return nn.Sequential(*parts)
"""


def test_the_sizes_of_neighbours() -> None:
    assert "FSDP206" not in analyse(main(RUN, PAIRS + NET.format(kept="dense(64, 256, 64)"))).codes
    assert "FSDP206" in analyse(main(RUN, PAIRS + NET.format(kept="dense(64, 40000, 40000)"))).codes
