"""Which entries of a registry a list of names picks is for a file to say: any of them may be picked."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

REGISTRY = """
import json
from dataclasses import dataclass, field
import torch.distributed.checkpoint as dcp
HOOKS = {}


def register_hook(name):
    def add(cls):
        HOOKS[name] = cls
        return cls

    return add


class Hook:
    def __init__(self, trainer):
        self.trainer = trainer

    def after_step(self, step): ...


@register_hook("log")
class Log(Hook):
    def after_step(self, step):
        print(step)


@register_hook("save")
class Save(Hook):
    def after_step(self, step):
        if step % 10 == 0 and dist.get_rank() == 0:
            dcp.save({"model": self.trainer.model.state_dict()}, checkpoint_id="x")


@dataclass
class Settings:
    hooks: list = field(default_factory=lambda: ["log"])


class Trainer:
    def __init__(self, names):
        self.model = Net()
        for layer in self.model.layers:
            fully_shard(layer)
        fully_shard(self.model)
        self.hooks = [HOOKS[name](self) for name in names]

    def train(self):
        for step in range(100):
            self.model(torch.ones(2, dtype=torch.long)).sum().backward()
            for hook in self.hooks:
                hook.after_step(step)
"""
NAMES = {
    "of a file": 'json.load(open("x"))["hooks"]',
    "of a setting": "Settings(**json.load(open('x'))).hooks",
    "written out": '["log", "save"]',
}


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_may_be_the_one(name: str) -> None:
    main = f'dist.init_process_group("gloo")\nTrainer({NAMES[name]}).train()\n'
    assert "FSDP801" in analyse(script(main, REGISTRY)).codes


def test_not_one_that_nobody_names() -> None:
    main = 'dist.init_process_group("gloo")\nTrainer(["log"]).train()\n'
    assert "FSDP801" not in analyse(script(main, REGISTRY)).codes
