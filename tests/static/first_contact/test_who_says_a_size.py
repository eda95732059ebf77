"""A model whose size stands in a file or in another package may be small: each run has the same, and nobody read it."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

NET = """
import json
import os
from dataclasses import dataclass

import yaml
from omegaconf import OmegaConf
from zoo import presets, registry


@dataclass
class Config:
    dim: int
    depth: int = 2


class Sized(nn.Module):
    def __init__(self, dim, depth=2, **rest):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Table(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64)])
        self.head = nn.Linear(64, 64)
        self.table = nn.Parameter(torch.zeros(rows, 64))

    def forward(self, x):
        return self.head(x) + self.table[0]


def of(config):
    return Sized(config.dim, config.depth)


{before}
"""
RUN = """
model = {model}.to("cuda")
fully_shard(model.head)
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(10):
    model(torch.randn(4, 64, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
READ = 'config = yaml.safe_load(open("tiny.yaml"))'
UNREAD = [
    (READ, 'Sized(config["dim"])'),
    (READ, 'Sized(config["model"]["dim"], config["model"]["depth"])'),
    (READ, 'Sized(2 * config["dim"] // 3)'),
    (READ, 'Sized(int(config["dim"]))'),
    (READ, 'Sized(**config["model"])'),
    (READ, "Sized(depth=4, **config)"),
    (READ, "of(Config(**config))"),
    ('config = json.loads(open("tiny.json").read())', 'Sized(config.get("dim", 64))'),
    ('config = OmegaConf.load("tiny.yaml")', "Sized(config.model.dim)"),
    ('spec = registry("debugmodel")\nspec.model.vocab = 500', "spec.model.build()"),
    ("", "Sized(presets.TINY.dim)"),
    ("", 'registry("tiny")'),
    ("", 'Sized(registry("tiny").width("wide"))'),
]
OUTSIDE = [
    (READ, "Sized(int(sys.argv[1]))"),
    (READ, 'Sized(int(os.environ.get("DIM", config["dim"])))'),
    (READ, 'Sized(config["dim"] * int(sys.argv[1]))'),
    ("", "of(Config(int(sys.argv[1])))"),
    ("", "registry(sys.argv[1])"),
    ("", "Table(int(sys.argv[1]))"),
    ("", "Sized(**{word.split('=')[0]: int(word.split('=')[1]) for word in sys.argv[1:]})"),
    ("", 'Sized(registry("tiny").width(sys.argv[1]))'),
    (READ, "Sized(100_000)"),
]


def found(before: str, model: str) -> bool:
    return "FSDP206" in analyse(main(RUN.format(model=model), NET.replace("{before}", before))).codes


@pytest.mark.parametrize(("before", "model"), UNREAD)
def test_what_was_not_read_may_be_small(before: str, model: str) -> None:
    assert not found(before, model)


@pytest.mark.parametrize(("before", "model"), OUTSIDE)
def test_what_is_chosen_may_be_large(before: str, model: str) -> None:
    assert found(before, model)


OPTIONS = """
parser = argparse.ArgumentParser()
parser.add_argument("--dim", type=int, default={default})
parser.add_argument("--depth", type=int, default=2)
args = parser.parse_args()
"""
BY_OPTIONS = [
    "Sized(args.dim)",
    "Sized(dim=args.dim, depth=args.depth)",
    "Sized(2 * args.dim)",
    "of(Config(args.dim))",
]


@pytest.mark.parametrize("model", BY_OPTIONS)
def test_what_is_small_by_default_is_perhaps_small(model: str) -> None:
    """A setting may make it large, but nothing shows that anybody does."""
    before = "import argparse\n" + OPTIONS
    assert not found(before.format(default=64), model)
    assert found(before.format(default=40_000), model)
    assert found(before.format(default=None), model)


IMPORTED = """
import importlib
{read}
path, name = {spec}.rsplit(".", 1)
kind = getattr(importlib.import_module(path), name)
"""


def test_which_class_an_unread_file_names_is_not_known_to_be_large() -> None:
    assert not found(IMPORTED.format(read=READ, spec='config["model"]'), "kind()")
    assert not found(IMPORTED.format(read=READ, spec='config["model"]'), 'kind(config["params"])')
    assert found(IMPORTED.format(read="", spec="sys.argv[1]"), "kind()")
