"""Handlers that are looked up with ``inspect.getmembers``, and signals that are asked for by ``is not None``."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

PLUGINS = """
import inspect

def on(event):
    def tag(method):
        method.event = event
        return method
    return tag

class Plugin:
    def handlers(self):
        for name, method in inspect.getmembers(self, PREDICATE):
            if getattr(method, "event", None) == "step":
                yield method

class Exporter(Plugin):
    @on("step")
    def export(self, model):
        torch.save(model.state_dict(), "model.pt")

    @on("end")
    def leave(self, model):
        model.forward(None)
"""
MAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
plugins = [Exporter()]
for batch in batches():
    model(batch).sum().backward()
    for plugin in plugins:
        for handler in plugin.handlers():
            handler(model)
"""


def test_methods_of_an_object() -> None:
    text = script(MAIN, PLUGINS.replace("PREDICATE", "inspect.ismethod"))
    assert analyse(text).codes == ["FSDP701"]


def test_methods_that_it_keeps() -> None:
    kept = """
class Keeper(Plugin):
    def __init__(self, other):
        self.other = other.export
"""
    text = script(
        MAIN.replace("[Exporter()]", "[Keeper(Exporter())]"), PLUGINS.replace("PREDICATE", "inspect.ismethod") + kept
    )
    assert analyse(text).codes == ["FSDP701"]


@pytest.mark.parametrize("predicate", ["inspect.isfunction", "callable"])
def test_what_else_may_be_asked_for(predicate: str) -> None:
    """An object has no functions of its own; what ``callable`` finds is not followed."""
    assert analyse(script(MAIN, PLUGINS.replace("PREDICATE", predicate))).codes == []


SIGNALS = """
import signal

class Stop:
    def __init__(self):
        self.received = None
        for each in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(each, self.mark)

    def mark(self, number, frame):
        self.received = number

    def requested(self):
        ASKED
"""
LOOP = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
stop = Stop()
for batch in batches():
    model(batch).sum().backward()
    if stop.requested():
        break
"""
AGREED = """flag = torch.tensor([int(self.received is not None)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag.item())"""


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ("return self.received is not None", "violated"),
        ("return not self.received is None", "violated"),
        (AGREED, "upheld"),
    ],
)
def test_whether_a_signal_came(asked: str, verdict: str) -> None:
    assert analyse(script(LOOP, SIGNALS.replace("ASKED", asked))).verdicts("FSDP801") == {verdict}
