"""Layers that a random number leaves out: by which generator, with which seed, and at which rate."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

NET = """
import random
import numpy as np


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.rates = [float(os.environ["DROP"]) * i / 3 for i in range(4)]
        self.own = GENERATOR

    def forward(self, x):
        for layer, rate in zip(self.layers, self.rates):
            if self.training and DRAW < rate:
                continue
            x = layer(x)
        return x
"""
TRAINING = """
dist.init_process_group("gloo")
rank = dist.get_rank()
SEED
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8)).sum().backward()
optimizer.step()
"""


def codes(draw: str, generator: str = "None", seed: str = "pass") -> list[str]:
    net = NET.replace("GENERATOR", generator).replace("DRAW", draw)
    return analyse(script(TRAINING.replace("SEED", seed), net=net)).codes


@pytest.mark.parametrize(
    ("draw", "generator", "seed"),
    [
        ("random.random()", "None", "pass"),
        ("random.random()", "None", "random.seed(7 + rank)"),
        ("torch.rand(()).item()", "None", "torch.manual_seed(7 + rank)"),
        ("self.own.random()", "random.Random()", "pass"),
        ("self.own.random()", "random.Random(7 + dist.get_rank())", "pass"),
        ("self.own.random()", "np.random.default_rng(dist.get_rank())", "pass"),
        ("self.own.rand()", "np.random.RandomState(dist.get_rank())", "pass"),
    ],
)
def test_each_rank_leaves_out_others(draw: str, generator: str, seed: str) -> None:
    assert "FSDP405" in codes(draw, generator, seed)


@pytest.mark.parametrize(
    ("draw", "generator", "seed"),
    [
        ("random.random()", "None", "random.seed(7)"),
        ("torch.rand(()).item()", "None", "pass"),
        ("self.own.random()", "random.Random(7)", "pass"),
        ("self.own.random()", "np.random.default_rng(7)", "pass"),
        ("0.5", "None", "pass"),
    ],
)
def test_all_ranks_leave_out_the_same(draw: str, generator: str, seed: str) -> None:
    assert "FSDP405" not in codes(draw, generator, seed)


BY_OPTION = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--drop", type=float, default=RATE)
args = parser.parse_args()
"""


@pytest.mark.parametrize(("rate", "expected"), [("0.0", False), ("0", False), ("0.1", True)])
def test_a_rate_that_is_zero_by_default(rate: str, expected: bool) -> None:
    net = NET.replace("GENERATOR", "None").replace("DRAW < rate", "random.random() < args.drop")
    program = script(BY_OPTION.replace("RATE", rate) + TRAINING.replace("SEED", "pass"), net="args = None\n" + net)
    found = analyse(program.replace("def main():", "def main():\n    global args"))
    assert ("FSDP405" in found.codes) is expected


@pytest.mark.parametrize(("again", "expected"), [("7 + rank", True), ("7", False)])
def test_a_generator_that_gets_another_seed(again: str, expected: bool) -> None:
    seeded = TRAINING.replace("SEED", "pass").replace("model(torch", f"model.own.seed({again})\nmodel(torch", 1)
    net = NET.replace("GENERATOR", "random.Random(0)").replace("DRAW", "self.own.random()")
    assert ("FSDP405" in analyse(script(seeded, net=net)).codes) is expected


APART = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
torch.manual_seed(1 + dist.get_rank())
data = torch.zeros(64, 8)
order = torch.randperm(len(data))
"""


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("parts = order.split(4)\nfor at, rows in enumerate(parts):\n    if at + 1 == len(parts):\n"
         "        model(data[rows])", False),
        ("if len(order) > 3 and order.shape[0] > 3:\n    model(data)", False),
        ("if order[0] > 3:\n    model(data)", True),
    ],
)  # fmt: skip
def test_how_much_is_drawn_is_not_drawn(loop: str, expected: bool) -> None:
    assert ("FSDP405" in analyse(script(APART + loop)).codes) is expected


@pytest.mark.parametrize(
    ("generator", "word"),
    [
        ("torch.Generator().manual_seed(3)", "unknown"),
        ("torch.Generator()", "unknown"),
        ("torch.Generator().manual_seed(dist.get_rank())", "violated"),
        ("mystery.generator()", "unknown"),
        ("None", "violated"),
    ],
)
@pytest.mark.parametrize("draw", ["torch.rand(1, GIVEN)", "torch.multinomial(torch.ones(4), 1, GIVEN)"])
def test_numbers_of_a_generator_that_is_handed_over(draw: str, generator: str, word: str) -> None:
    """Seeded alike, it gives the ranks the same as long as they have drawn as often, which is not counted."""
    drawn = draw.replace("GIVEN", "generator=generator")
    body = f"generator = {generator}\nif {drawn} > 0.5:\n    model(data)\n"
    assert analyse(script(APART + body, "import mystery\n")).verdicts("FSDP801") == {word}


@pytest.mark.parametrize("draw", ["random.getrandbits(8)", "random.choice(range(8))", "random.randint(0, 8)"])
def test_numbers_of_python_s_generator(draw: str) -> None:
    body = f"import random\nrandom.seed(dist.get_rank())\nif {draw} > 4:\n    model(data)\n"
    assert analyse(script(APART + body)).verdicts("FSDP801") == {"violated"}
