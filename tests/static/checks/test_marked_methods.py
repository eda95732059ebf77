"""Methods that a decorator marks and an object finds by what their class holds, kept in files that know no torch."""

from __future__ import annotations

import pytest

from tests.static.program import analyse

BUS = '''
def on(event, priority=50):
    def mark(method):
        method.subscription = (event, priority)
        return method
    return mark


class Bus:
    """Calls what was attached."""

    def __init__(self):
        self.slots = {"start": [], "done": []}
        self.number = 0

    def attach(self, listener):
        """As long as a function that is worth leaving out.

        Its file says nothing of models, and nothing in its hands is one: yet what it keeps has code of its own.
        """
        for name, member in FOUND:
            subscription = getattr(member, "subscription", None)
            if subscription is None:
                continue
            event, priority = subscription
            self.number += 1
            self.slots[event].append((priority, self.number, getattr(listener, name)))
            self.slots[event].sort(key=lambda slot: slot[:2])

    def publish(self, event, **payload):
        for _, _, handler in self.slots[event]:
            handler(**payload)
'''
LISTENERS = """
from bus import on


class Twice:
    kind = "listener"

    def __init__(self, every):
        self.every = every

    @property
    def label(self):
        return self.kind

    @on("start", priority=7)
    def shard(self, engine):
        engine.shard()
        engine.shard()

    @on("done")
    def report(self, engine):
        print(engine)
"""
TRAIN = """
from torch import nn
from torch.distributed.fsdp import fully_shard

from bus import Bus
from listeners import Twice


class Engine:
    def __init__(self):
        self.model = nn.Linear(4, 4)
        self.bus = Bus()

    def shard(self):
        fully_shard(self.model)


engine = Engine()
engine.bus.attach(Twice(3))
engine.bus.publish("EVENT", engine=engine)
"""


def told(found: str, event: str = "start") -> bool:
    """In the script: the listener's class alone is a program as well."""
    files = {
        "bus.py": BUS.replace("FOUND", found),
        "listeners.py": LISTENERS,
        "train.py": TRAIN.replace("EVENT", event),
    }
    findings = [each for each in analyse(files).result.findings if each.code == "FSDP305"]
    return any(seen.scripts for each in findings for seen in each.about)


@pytest.mark.parametrize("found", ["vars(type(listener)).items()", "type(listener).__dict__.items()"])
def test_what_is_marked_is_called(found: str) -> None:
    assert told(found)


def test_of_another_event_it_is_not() -> None:
    assert not told("vars(type(listener)).items()", "done")


def test_an_inherited_method_is_not_among_what_a_class_holds() -> None:
    inherited = LISTENERS + "\n\nclass Thrice(Twice):\n    pass\n"
    files = {
        "bus.py": BUS.replace("FOUND", "vars(type(listener)).items()"),
        "listeners.py": inherited,
        "train.py": TRAIN.replace("Twice", "Thrice").replace("EVENT", "start"),
    }
    findings = [each for each in analyse(files).result.findings if each.code == "FSDP305"]
    assert not any(seen.scripts for each in findings for seen in each.about)
