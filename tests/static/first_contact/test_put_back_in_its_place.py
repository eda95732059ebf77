"""Every n-th layer is wrapped and put back under its own index: it is the layer that stood there."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

HELPERS = """
import argparse
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

parser = argparse.ArgumentParser()
parser.add_argument("--every", type=int, default=2)
every = parser.parse_args().every


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(8)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def wrap(layers):
    for i in ROUNDS:
        layers[i] = checkpoint_wrapper(layers[i])


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
"""
ROUNDS = [
    "range(len(layers))",
    "range(0, len(layers), every)",
    "range(0, len(layers), 2) if every else ()",
    "range(1, len(layers))",
]


def verdicts(rounds: str, order: str, code: str) -> set[str]:
    body = f"\nmodel = Stack()\n{order}\noptimizer = torch.optim.AdamW(model.parameters())\nmodel(torch.ones(2, 8))\n"
    return analyse(main(body, HELPERS.replace("ROUNDS", rounds))).verdicts(code)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_wrapped_after_sharding(rounds: str) -> None:
    assert verdicts(rounds, "shard(model)\nwrap(model.layers)", "FSDP309") == {"violated"}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_wrapped_before(rounds: str) -> None:
    order = "wrap(model.layers)\nshard(model)"
    assert "violated" not in verdicts(rounds, order, "FSDP309")
    for code in ("FSDP302", "FSDP303", "FSDP305"):
        assert verdicts(rounds, order, code) == {"upheld"}
