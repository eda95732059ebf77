"""A file fills a table of another file by decorators, and asks it: to look the name up is what fills it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

TABLES = """
class Table:
    def __init__(self):
        self._entries = {}

    def register(self, name):
        def wrap(factory):
            if name in self._entries:
                raise ValueError(name)
            self._entries[name] = factory
            return factory

        return wrap

    def build(self, name, *given):
        return self._entries[name](*given)


OPTIMIZERS = Table()
"""
OPTIM = """
import torch
from BROUGHT import OPTIMIZERS


@OPTIMIZERS.register("adamw")
def adamw(groups):
    return torch.optim.AdamW(groups)


@OPTIMIZERS.register("sgd")
def sgd(groups):
    return torch.optim.SGD(groups)


def build_optimizer(model):
    return OPTIMIZERS.build("adamw", model.parameters())
"""
SHARD = "for layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
BUILD = "optimizer = build_optimizer(model)\n"


@pytest.mark.parametrize("brought", ["tables", "handed_on"])
@pytest.mark.parametrize(("body", "expected"), [(SHARD + BUILD, "upheld"), (BUILD + SHARD, "violated")])
def test_what_it_builds(brought: str, body: str, expected: str) -> None:
    train = f'dist.init_process_group("nccl")\nmodel = Net()\n{body}'
    train += "model(torch.ones(2, 8)).sum().backward()\noptimizer.step()\n"
    program = {
        "train.py": script(train, "from optim import build_optimizer"),
        "optim.py": OPTIM.replace("BROUGHT", brought),
        "handed_on.py": "from tables import OPTIMIZERS\n",
        "tables.py": TABLES,
    }
    assert analyse(program).verdicts("FSDP601") == {expected}
