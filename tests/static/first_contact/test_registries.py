"""Registries that are objects of a class of the project, filled by decorators in files that import them."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, analyse

REGISTRY = """
class Registry:
    def __init__(self, name):
        self._name, self._held = name, {}

    def get(self, key):
        found = self._held.get(key)
        if found is None:
            raise KeyError(f"{key} is not in {self._name}")
        return found

    def register_module(self, name=None):
        def put(made):
            self._put(made, name)
            return made
        return put

    def _put(self, made, name):
        self._held[name or made.__name__] = made

    def build(self, config, **default):
        given = dict(config)
        kind = given.pop("type")
        for key, value in default.items():
            given.setdefault(key, value)
        return self.get(kind)(**given)
"""
MADE = [
    'MODELS, PARALLEL = Registry("models"), Registry("parallel")',
    'MODELS = Registry("models")\nPARALLEL = Registry("p")',
]
NETS = (
    HEAD
    + """
from registry import MODELS

@MODELS.register_module()
class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
)
PARALLEL = (
    HEAD
    + """
from registry import PARALLEL

@PARALLEL.register_module(name="fsdp2")
class Sharded:
    def __init__(self, reshard=True):
        self.options = {"reshard_after_forward": reshard}

    def __call__(self, model):
        for block in model.blocks:
            fully_shard(block, **self.options)
        return fully_shard(model, **self.options)

    def full(self, model):
        return {name: VALUE for name, value in model.state_dict().items()}

@PARALLEL.register_module("single")
class Single:
    def __call__(self, model):
        return model

    def full(self, model):
        return model.state_dict()
"""
)
TRAIN = """
import argparse
import os
import torch
import torch.distributed as dist
import nets
import parallel
from registry import MODELS, PARALLEL

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallel", default="fsdp2")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    strategy = PARALLEL.build({"type": KIND})
    model = strategy(MODELS.build(dict(type="Net"), width=32))
    state = strategy.full(model)
    if dist.get_rank() == 0:
        torch.save(state, "model.pt")

if __name__ == "__main__":
    main()
"""


def files(made: str, kind: str, value: str) -> dict[str, str]:
    return {
        "registry.py": f"{REGISTRY}\n{made}\n",
        "nets.py": NETS,
        "parallel.py": PARALLEL.replace("VALUE", value),
        "train.py": TRAIN.replace("KIND", kind),
    }


@pytest.mark.parametrize("kind", ['"fsdp2"', "parser.parse_args().parallel", 'os.environ.get("PARALLEL", "fsdp2")'])
@pytest.mark.parametrize("made", MADE)
def test_what_a_name_builds(made: str, kind: str) -> None:
    assert analyse(files(made, kind, "value.full_tensor()")).codes == []
    assert analyse(files(made, kind, "value")).codes == ["FSDP701"]


def test_another_entry() -> None:
    assert analyse(files(MADE[0], '"single"', "value")).codes == []


def test_the_class_of_the_model_is_known() -> None:
    seen = analyse(files(MADE[0], '"fsdp2"', "value.full_tensor()"))
    assert seen.verdicts("FSDP302") == {"upheld"}
