"""Handlers that a decorator marks, and that are found by their marks: what is set on a function is there later."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BUS = """
import enum
from collections import defaultdict
import torch.distributed.checkpoint as dcp


class Event(enum.Enum):
    START = enum.auto()
    STEP = enum.auto()


def on(*events):
    def mark(handler):
        handler.__events__ = events
        return handler

    return mark


class Component:
    def handlers(self):
        found = []
        for name in NAMES:
            events = getattr(getattr(type(self), name), "__events__", ())
            found.extend((event, getattr(self, name)) for event in events)
        return found


class Saver(Component):
    keeps = 3

    def __init__(self, model):
        self.model = model

    @on(Event.STEP)
    def save(self, step):
        if step % 10 == 0 and dist.get_rank() == 0:
            dcp.save({"model": self.model.state_dict()}, checkpoint_id="x")


class Bus:
    def __init__(self):
        self._handlers = defaultdict(list)

    def attach(self, *components):
        for component in components:
            for event, handler in component.handlers():
                self._handlers[event].append(handler)
        return self

    def emit(self, event, *args):
        for handler in self._handlers[event]:
            handler(*args)
"""
MAIN = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
bus = Bus().attach(Saver(model))
for step in range(100):
    model(torch.ones(2, dtype=torch.long)).sum().backward()
    bus.emit(Event.EVENT, step)
"""
NAMES = ["('handlers', 'save')", "dir(type(self))", "dir(self)", "[each for each in dir(self) if each[0] != '_']"]


@pytest.mark.parametrize("names", NAMES)
def test_marked_methods_are_called(names: str) -> None:
    analysis = analyse(script(MAIN.replace("EVENT", "STEP"), BUS.replace("NAMES", names)))
    assert "FSDP801" in analysis.codes


@pytest.mark.parametrize("names", NAMES)
def test_not_at_other_events(names: str) -> None:
    analysis = analyse(script(MAIN.replace("EVENT", "START"), BUS.replace("NAMES", names)))
    assert analysis.codes == []


def test_what_has_no_mark_is_no_handler() -> None:
    unmarked = BUS.replace("    @on(Event.STEP)\n", "").replace("NAMES", NAMES[1])
    assert analyse(script(MAIN.replace("EVENT", "STEP"), unmarked)).codes == []
