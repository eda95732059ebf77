"""Models on the meta device whose layers reset themselves, where they have ``reset_parameters``."""

from __future__ import annotations

import pytest

from fsdp2_lint.static.libraries.torch.sharding.module_tree import COMPOSED, PARAMETRIC, has_reset, lacks_reset
from tests.static.program import Analysis, analyse

SCRIPT = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Scaled(nn.Linear):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 8)
        self.layer = LAYER
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.layer(self.embed(x)))


dist.init_process_group("gloo")
torch.manual_seed(SEED)
with torch.device("meta"):
    model = Net()
fully_shard(model)
model.to_empty(device="cpu")
for module in model.modules():
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(2, dtype=torch.long)).sum().backward()
optimizer.step()
"""
OWN = "nn.Module()\n        self.scale = nn.Parameter(torch.ones(8))"


def run(layer: str, seed: str = "0") -> Analysis:
    return analyse({"train.py": SCRIPT.replace("LAYER", layer).replace("SEED", seed)})


@pytest.mark.parametrize("layer", ["nn.Linear(8, 8)", "Scaled(8, 8)"])
def test_each_layer_is_written(layer: str) -> None:
    assert run(layer).verdicts("FSDP201") == {"upheld"}


@pytest.mark.parametrize("layer", ["nn.MultiheadAttention(8, 2)", OWN])
def test_what_has_no_such_method_is_left_out(layer: str) -> None:
    assert run(layer).verdicts("FSDP201") != {"upheld"}


@pytest.mark.parametrize(
    ("seed", "said"),
    [("0", "violated"), ("dist.get_rank()", "upheld"), ("7 + 13 * dist.get_rank()", "upheld"),
     ("dist.get_rank() // 8", "unknown"), ("int(input())", "unknown")],
)  # fmt: skip
def test_seeds_of_the_shards(seed: str, said: str) -> None:
    assert run("nn.Linear(8, 8)", seed).verdicts("FSDP208") == {said}


@pytest.mark.parametrize("name", sorted(PARAMETRIC | COMPOSED))
def test_the_lists_are_those_of_torch(name: str) -> None:
    nn = pytest.importorskip("torch.nn", reason="asks torch itself")
    assert has_reset(f"torch.nn.{name}") is hasattr(getattr(nn, name), "reset_parameters")
    assert lacks_reset(f"torch.nn.{name}") is not has_reset(f"torch.nn.{name}")
