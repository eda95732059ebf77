"""Streams of batches without an end, in programs of several files whose strategy comes out of a table."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

TABLE = """
STRATEGIES = {}


def register(name):
    def add(cls):
        STRATEGIES[name] = cls
        return cls

    return add


@register("sharded")
class Sharded:
    def prepare(self, model):
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        return model


def build(options):
    return STRATEGIES[options.strategy]()
"""
TRAINER = """
import torch


class Trainer:
    def __init__(self, model, strategy):
        self.model = strategy.prepare(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def fit(self, batches):
        for batch in batches:
            self.model.forward(batch).sum().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
"""
TRAIN = f"""
import os
import sys
import torch
import torch.distributed as dist
import torch.nn as nn
from strategies import build
from trainer import Trainer


{NET}

class Options:
    strategy = sys.argv[1]


def batches():
    data = [torch.ones(2, 8, dtype=torch.long)] * int(sys.argv[2])
    loader = torch.utils.data.DataLoader(data, batch_size=None)
    if len(loader) == 0:
        raise ValueError("too few")
    epoch = 0
    while True:
        for batch in loader:
            yield batch
        epoch += 1


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    Trainer(Net(), build(Options)).fit(batches())


main()
"""


def test_a_class_out_of_a_table() -> None:
    files = {"strategies.py": HEAD + TABLE, "trainer.py": TRAINER, "train.py": TRAIN}
    assert ("FSDP401", "trainer.py", 12) in analyse(files).found


@pytest.mark.parametrize("early", ["", "raise ValueError"])
def test_an_endless_generator_is_run_although_it_may_raise(early: str) -> None:
    """Nothing behind it was seen: a function without an end, that may raise, was taken for one that always does."""
    train = TRAIN.replace('raise ValueError("too few")', early or "pass")
    files = {"strategies.py": HEAD + TABLE, "trainer.py": TRAINER, "train.py": train}
    assert ("FSDP401", "trainer.py", 12) in analyse(files).found
