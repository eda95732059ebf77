"""Correct programs in shapes that invite a wrong conclusion, and what each of them once brought about."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun

HEAD = """\
import dataclasses

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 32)

    def forward(self, x):
        return x + self.up(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(32, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def loss_of(model, step):
    tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


dist.init_process_group("gloo")
torch.manual_seed(0)
"""
PROGRAMS = {
    # The forward and backward of a closure come after the hook that sees the step begin.
    "a step with a closure": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    with torch.no_grad():
        loss_of(model, 100 + step)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        return loss

    optimizer.step(closure)
""",
    # What the parts were given before is not allocated anew.
    "to_empty without recursion": """\
with torch.device("meta"):
    model = Net()
shard(model)
for module in reversed(list(model.modules())):
    module.to_empty(device="cpu", recurse=False)
    if hasattr(module, "reset_parameters"):
        torch.manual_seed(dist.get_rank())
        module.reset_parameters()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Gradients that are never computed are not computed for nothing.
    "a linear probe": """\
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = Net(), nn.Linear(64, 64)

    def forward(self, tokens):
        with torch.no_grad():
            x = self.body(tokens)
        return self.head(x)


model = Probe()
shard(model.body)
fully_shard(model)
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The temperature is the same everywhere, the tokens inside the dataclass are not.
    "a batch in a dataclass": """\
@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, batch, temperature):
        return self.net(batch.tokens) / temperature


model = Scaled()
for layer in model.net.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    logits = model(Batch(tokens), torch.tensor(1.0 + step))
    F.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Annotations of the script are what it says, whatever this tool's own files ask of the compiler.
    "a parser from annotations": """\
@dataclasses.dataclass
class Arguments:
    lr: float = 0.1


(field,) = dataclasses.fields(Arguments)
assert field.type is float
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=field.type("0.1"))
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # A class of torch is compiled from its source, also after one of its objects was sharded.
    "TorchScript after sharding": """\
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model.head)
fully_shard(model)
torch.jit.script(nn.Sequential(nn.Linear(2, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Held weakly where it can be, and let go in time where it cannot.
    "a model that is gone": """\
import gc
import weakref

model = shard(Net())
parameters = [weakref.ref(each) for each in Net().parameters()]
first = weakref.ref(model)
loss_of(model, 0)
del model
gc.collect()
assert first() is None and not [each for each in parameters if each() is not None]
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + PROGRAMS[name] + "dist.destroy_process_group()\n")
    job = run_program(script, tmp_path / "report")
    assert [(each.code, each.primary.site.row, each.message) for each in job.findings] == []
    assert job.report.crashes == [] and job.report.notes == [], job.output()
    assert job.report.sharded and job.report.steps >= 3
