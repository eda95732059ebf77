"""FSDP801: what the handler of a signal leaves behind, in whichever shape, and tensors that it is written into."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

IMPORTS = """\
import signal
from functools import partial
from types import SimpleNamespace
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict


asked = []
state = {"stop": False, "steps": 0}
box = SimpleNamespace(stop=False)


def save(model):
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id="last")


def note(number, frame):
    state["stop"] = True


def into(where, number, frame):
    where.append(number)


class Watch:
    def __init__(self):
        self.seen = set()
        self.flag = torch.zeros(1)
        signal.signal(signal.SIGUSR1, lambda number, frame: self.seen.add(number))

    def look(self):
        self.flag.fill_(len(self.seen))
        return self.flag.item() > 0

    def agree(self):
        self.flag.fill_(len(self.seen))
        dist.all_reduce(self.flag)
        return self.flag.item() > 0


"""
TRAINING = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
stop = torch.zeros(1)
late = False
{before}
for step in range(100):
    optimizer.param_groups[0]["lr"] = 1e-3 / (step + 1)
    model(torch.randint(100, (2, 4))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    {question}
"""
APPENDS = "signal.signal(signal.SIGTERM, lambda *_: asked.append(1))"
NONLOCAL = """
def on(number, frame):
    nonlocal late
    late = True
signal.signal(signal.SIGTERM, on)
"""
OWN = {
    "a list": (APPENDS, "if asked:\n    save(model)"),
    "how much is in it": (APPENDS, "if len(asked) > 0:\n    break"),
    "a list that it is given": (
        "signal.signal(signal.SIGTERM, partial(into, asked))",
        "if asked:\n    save(model)",
    ),
    "a dict": ("signal.signal(signal.SIGTERM, note)", "if state['stop']:\n    save(model)"),
    "an attribute": ("signal.signal(signal.SIGTERM, lambda *_: setattr(box, 'stop', True))", "if box.stop:\n    break"),
    "a variable around it": (NONLOCAL, "if late:\n    save(model)"),
    "a set of an object": ("watch = Watch()", "if watch.look():\n    save(model)"),
    "a tensor": (APPENDS, "stop.fill_(len(asked))\nif stop.item() > 0:\n    save(model)"),
    "an item of a tensor": (APPENDS, "stop[0] = 1.0 if asked else 0.0\nif stop.item() > 0:\n    break"),
    "a new tensor": (APPENDS, "flag = torch.tensor(float(len(asked) > 0))\nif flag > 0:\n    save(model)"),
    "an agreement on something else": (
        APPENDS,
        "stop.fill_(len(asked))\nother = torch.ones(1)\ndist.all_reduce(other)\nif stop.item() > 0:\n    save(model)",
    ),
}
AGREED = {
    "a tensor": (APPENDS, "stop.fill_(len(asked))\ndist.all_reduce(stop)\nif stop.item() > 0:\n    save(model)"),
    "an item": (APPENDS, "stop[0] = 1.0 if asked else 0.0\ndist.all_reduce(stop)\nif stop.item() > 0:\n    break"),
    "by another name": (
        APPENDS,
        "same = stop\nstop.fill_(len(asked))\ndist.all_reduce(same)\nif stop.item() > 0:\n    save(model)",
    ),
    "by the name from before": (
        APPENDS,
        "same = stop\nsame.fill_(len(asked))\ndist.all_reduce(stop)\nif same.item() > 0:\n    save(model)",
    ),
    "objects": (APPENDS, "told = [len(asked) > 0]\ndist.broadcast_object_list(told)\nif told[0]:\n    save(model)"),
    "a method": ("watch = Watch()", "if watch.agree():\n    save(model)"),
    "a new tensor": (
        APPENDS,
        "flag = torch.tensor(float(bool(asked)))\ndist.all_reduce(flag)\nif flag > 0:\n    save(model)",
    ),
    "emptied before it is asked": (APPENDS, "stop.fill_(len(asked))\nstop.zero_()\nif stop.item() > 0:\n    break"),
    "filled after it is asked": (APPENDS, "if stop.item() > 0:\n    save(model)\nstop.fill_(0.0)\nn = len(asked)"),
    "another entry": ("signal.signal(signal.SIGTERM, note)", "if state['steps'] > 3:\n    break"),
    "a file for each": (APPENDS, "if asked:\n    open(f'stop.{dist.get_rank()}', 'w').close()"),
    "the default handler": ("signal.signal(signal.SIGTERM, signal.SIG_DFL)", "if asked:\n    save(model)"),
}


def said(before: str, question: str) -> Analysis:
    return analyse(script(TRAINING.format(before=before, question=question.replace("\n", "\n    ")), IMPORTS))


@pytest.mark.parametrize("before, question", OWN.values(), ids=OWN.keys())
def test_each_rank_for_itself(before: str, question: str) -> None:
    """One finding: that a rank which has left the loop sets no learning rate is no fault of its own."""
    assert set(said(before, question).codes) == {"FSDP801"}


@pytest.mark.parametrize("before, question", AGREED.values(), ids=AGREED.keys())
def test_the_ranks_agree(before: str, question: str) -> None:
    assert said(before, question).codes == []


SAVES = """
class Saver:
    def __init__(self, model):
        self.model, self.opened, self.asked = model, False, False
        signal.signal(signal.SIGTERM, self.on_signal)

    def on_signal(self, number, frame):
        self.asked = True
        self.write()

    def write(self):
        self.opened = True
        dcp.save({"model": get_model_state_dict(self.model)}, checkpoint_id="last")


saver = Saver(model)
"""


def test_a_handler_that_does_more() -> None:
    """What it sets itself is a flag still; what other code sets on the way is not taken for one."""
    assert "FSDP801" in said(SAVES, "if saver.asked:\n        break").codes
    assert said(SAVES, "if not saver.opened:\n        saver.write()").codes == []


def test_numbers_that_a_loop_leaves_apart() -> None:
    """FSDP617, where no collective in the loop makes the others wait."""
    shrink = "while optimizer.param_groups[0]['lr'] > 1e-6:\n{}"
    body = "    optimizer.param_groups[0]['lr'] *= 0.5\n    if asked:\n        break"
    found = said(APPENDS, shrink.format(body))
    assert found.codes == ["FSDP617"]
