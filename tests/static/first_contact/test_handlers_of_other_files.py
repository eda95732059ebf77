"""Handlers that a file without a word of torch finds and keeps: they are called, or what they may do is unknown."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BUS = """
from collections import defaultdict


class Bus:
    def __init__(self):
        self._handlers = HANDLERS

    def attach(self, callback):
        for event, handler in callback.handlers():
            self._handlers[event].append(handler)

    def fire(self, event, **given):
        for handler in self._handlers[event]:
            handler(**given)


class Callback:
    def handlers(self):
        found = []
        for name in NAMES:
            event = getattr(getattr(type(self), name), "__event__", None)
            if event is not None:
                found.append((event, getattr(self, name)))
        return found


def on(event):
    def mark(method):
        method.__event__ = event
        return method

    return mark
"""
TRAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
bus = Bus()
bus.attach(Meter())
for _ in range(9):
    loss = model(torch.ones(2, 8)).sum()
    bus.fire("loss", loss=loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(torch.ones(()))
"""
METER = """
from bus import Bus, Callback, on


class Meter(Callback):
    @on("loss")
    def collect(self, loss):
        dist.all_reduce(loss)
"""
TABLES = ["defaultdict(list)", '{"loss": []}']


def verdicts(table: str, names: str) -> set[str]:
    bus = BUS.replace("HANDLERS", table).replace("NAMES", names)
    return analyse({"train.py": script(TRAIN, METER), "bus.py": bus}).verdicts("FSDP610")


@pytest.mark.parametrize("table", TABLES)
def test_found_by_their_marks(table: str) -> None:
    assert verdicts(table, "dir(type(self))") == {"violated"}


@pytest.mark.parametrize("table", TABLES)
def test_found_by_names_that_are_not_known(table: str) -> None:
    """The loss goes to whatever they are: nothing is upheld of it."""
    assert verdicts(table, 'open("names.txt").read().split()') == {"unknown"}
