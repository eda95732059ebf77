"""Settings that code sets by names it computes: their values are not known, and what they lead to is seen."""

from __future__ import annotations

import pytest

from .program import HEAD, NET, analyse

TRAIN = f"""\
{HEAD}
from config import Config
from saver import Saver

{NET}

def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    config = Config()
    config.read()
    model = Net().cuda()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    saver = Saver(model, config.saving.interval)
    for step in range(10):
        saver.step(step)

main()
"""
SAVER = """\
import torch

class Saver:
    def __init__(self, model, interval):
        self.model = model
        self.interval = interval

    def step(self, step):
        if self.interval == 0 or step % self.interval:
            return
        torch.save(self.model.state_dict(), "model.pt")
"""
CONFIG = """\
import argparse
import json
from dataclasses import dataclass

@dataclass
class Saving:
    interval: int = 0
    folder: str = "out"

@dataclass
class Data:
    path: str = "data"

class Config:
    kinds = {"saving": Saving, "data": Data}

    def __init__(self):
        for name, kind in self.kinds.items():
            setattr(self, name, kind())

    def read(self):
%s
"""


@pytest.mark.parametrize("read", [
    "for name, values in json.load(open('c.json')).items():\n    setattr(self, name, self.kinds[name](**values))",
    "for name, values in json.load(open('c.json')).items():\n    for key in values:\n"
    "        setattr(getattr(self, name), key, values[key])",
    "for section in json.load(open('c.json')):\n    vars(self)[section['name']] = Saving(**section)",
    "args = argparse.ArgumentParser().parse_args()\nfor name, value in vars(args).items():\n"
    "    if name in self.kinds:\n        setattr(self, name, self.kinds[name](value))",
])  # fmt: skip
def test_a_group_of_settings_is_replaced_by_name(read: str) -> None:
    indented = "\n".join(f"        {line}" for line in read.splitlines())
    found = analyse({"train.py": TRAIN, "saver.py": SAVER, "config.py": CONFIG % indented}).found
    assert found == [("FSDP701", "saver.py", 11)]


def test_what_nothing_replaces_keeps_its_value() -> None:
    assert analyse({"train.py": TRAIN, "saver.py": SAVER, "config.py": CONFIG % "        pass"}).codes == []


def deleting(deletes: str, defines: str = "") -> set[str]:
    """What is said of the order of sharding, where the one who holds the model deletes an attribute of its own."""
    saver = SAVER.replace("    def step", f"{defines}\n    def step")
    saver = saver.replace("import torch", "import mystery_lib, torch")
    saver = saver.replace("        torch.save", f"        self.log = []\n        {deletes}\n        torch.save")
    files = {"train.py": TRAIN.replace("config.saving.interval", "5"), "saver.py": saver}
    return analyse({**files, "config.py": CONFIG % "        pass"}).verdicts("FSDP302")


@pytest.mark.parametrize("deletes", ["del self.log", "del self.log, self.interval", "delattr(self, 'log')"])
def test_an_attribute_that_is_deleted_takes_nothing_with_it(deletes: str) -> None:
    assert deleting(deletes) == {"upheld"}


@pytest.mark.parametrize("defines", [
    "    def __delattr__(self, name):\n        mystery_lib.touch(self)\n",
    "    @property\n    def log(self):\n        return 1\n\n    @log.deleter\n    def log(self):\n"
    "        mystery_lib.touch(self)\n",
])  # fmt: skip
def test_what_the_class_does_when_one_is_deleted_may_touch_all(defines: str) -> None:
    assert deleting("del self.log", defines) == {"unknown"}
