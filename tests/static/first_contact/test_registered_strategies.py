"""A class of a registry that shards what it is given: whoever builds by the registry comes to its methods."""

from __future__ import annotations

from tests.static.program import analyse

FILES = {
    "pkg/__init__.py": "from . import strategies  # fills the registry\n",
    "pkg/registry.py": """
class Registry:
    def __init__(self):
        self._entries = {}

    def register(self, name):
        def add(cls):
            self._entries[name] = cls
            return cls

        return add

    def build(self, name, *args):
        try:
            made = self._entries[name]
        except KeyError:
            raise KeyError(name) from None
        return made(*args)


STRATEGIES = Registry()
""",
    "pkg/strategies.py": """
from torch.distributed.fsdp import fully_shard

from .registry import STRATEGIES


class Strategy:
    def prepare(self, factory):
        model = factory()
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
        return model


@STRATEGIES.register("flat")
class Flat(Strategy):
    pass


@STRATEGIES.register("hybrid")
class Hybrid(Strategy):
    replicas = 2
""",
    "pkg/engine.py": """
import torch

from .net import Net
from .registry import STRATEGIES


class Engine:
    def __init__(self, cfg):
        self.strategy = STRATEGIES.build(cfg.strategy)
        self.model = self.strategy.prepare(lambda: Net())
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def fit(self, loader):
        for batch in loader:
            self.model.forward(batch).sum().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
""",
    "pkg/net.py": """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
    "train.py": """
from data import cfg, loader
from pkg.engine import Engine

Engine(cfg).fit(loader)
""",
}


def test_the_script_is_followed_to_its_model() -> None:
    found = analyse(FILES)
    assert found.codes == ["FSDP401"]
