"""Attributes of a model that are no part of it, and parts whose sizes are told in other ways."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HELPERS = """
import collections
import itertools
import logging
import pickle
import random
import threading


class Sized(nn.Module):
    def __init__(self, width, seed=0):
        super().__init__()
        self.first = nn.Linear(width, width)
        {line}
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(self.first(x))
"""
BODY = """
model = Sized({width}).to("cuda")
fully_shard(model.second)
fully_shard(model)
"""
PLAIN = (
    "self.rng = random.Random(seed)",
    "self.lock = threading.Lock()",
    "self.log = logging.getLogger(__name__)",
    "self.seen = collections.Counter()",
    "self.noise = torch.Generator()",
    "self.side = torch.cuda.Stream()",
)
SIZED = (
    "self.scale = nn.Parameter(torch.tensor([1.0, 2.0]))",
    "self.table = nn.Parameter(torch.Tensor(width, 3))",
    "self.decoder = nn.TransformerDecoderLayer(width, 4)",
    "self.both = nn.Transformer(width, 4)",
    "self.tower = nn.ModuleList([nn.Linear(a, b) for a, b in itertools.pairwise([width, 8, 4])])",
)


def codes(line: str, width: int = 16) -> list[str]:
    return analyse(script(BODY.format(width=width), HELPERS.format(line=line))).codes


@pytest.mark.parametrize("line", PLAIN + SIZED)
def test_it_does_not_hide_how_large_the_model_is(line: str) -> None:
    assert "FSDP206" not in codes(line)
    assert "FSDP206" in codes(line, 100_000)


@pytest.mark.parametrize("line", ["self.part = pickle.load(open('part', 'rb'))", "self.part = load_part(seed)"])
def test_what_may_be_a_module_is_a_part(line: str) -> None:
    assert "FSDP206" in codes(line)
