"""Ranks that work on parts of one input need the same batch; what else a group is for says nothing of inputs."""

from __future__ import annotations

import pytest

from fsdp2_lint.static.libraries.torch.ranks import groups
from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

STATE = """
CURRENT = None

def keep(group):
    global CURRENT
    CURRENT = group

def current():
    return CURRENT
"""
NETS = """
import importlib
import torch
import torch.distributed as dist
import torch.nn as nn
import state
from zoo import Attention, fused

class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, group):
        mixed = torch.empty_like(rows)
        dist.all_to_all_single(mixed, rows, group=group)
        return mixed

class Stack(nn.Module):
    def __init__(self, group=None):
        super().__init__()
        self.group = group
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    def run(self, rows):
        for layer in self.layers:
            rows = layer(rows)
        return rows

    def forward(self, rows):
        return self.run(rows)

class Slices(Stack):
    def forward(self, rows):
        if self.group is not None:
            rows = rows.chunk(dist.get_world_size(self.group), dim=1)[dist.get_rank(self.group)]
        return self.run(rows)

class Exchanges(Stack):
    def forward(self, rows):
        return Exchange.apply(self.run(rows), state.current())

class Fuses(Stack):
    def forward(self, rows):
        return fused(self.run(rows), state.current())

class Means(Stack):
    def forward(self, rows):
        rows = self.run(rows)
        dist.all_reduce(rows, group=self.group)
        return rows

class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Attention(8) for _ in range(2)])

    def forward(self, rows):
        for layer in self.layers:
            rows = layer(rows)
        return rows

def create(name):
    return getattr(importlib.import_module("nets"), name)()
"""
BEFORE = """
from contextlib import nullcontext
import nets
import state
import torch.nn.functional as F
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from zoo import create_model, sharded_sequences
"""
TRAINED = """
world = dist.get_world_size()
if world != 2:
    raise SystemExit("for two GPUs")
mesh = init_device_mesh("cuda", (world,))
ranks = dist.new_group([0, 1])
torch.manual_seed(0)
model = {model}
{early}
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
{after}
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
noises = torch.Generator().manual_seed(1)
files = ["a.pt", "b.pt"]
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for step, (rows, targets) in enumerate(DataLoader(data, batch_size=8{sampler})):
    noise = torch.randn(8, 8, generator=noises)
    with {around}:
        loss = F.mse_loss(model({given}), targets)
    loss.backward()
    {late}
    optimizer.step()
    optimizer.zero_grad()
"""
PACKAGE = "create_model('small')"


def program(model: str = PACKAGE, **parts: str) -> dict[str, str]:
    empty = {"early": "", "after": "", "sampler": "", "around": "nullcontext()", "given": "rows", "late": "pass"}
    text = TRAINED
    for name, part in {**empty, **parts, "model": model}.items():
        text = text.replace(f"{{{name}}}", part)
    return {"train.py": main(text, BEFORE), "nets.py": NETS, "state.py": STATE}


SPLIT = {
    "a method of the model": program(after="model.on_sequences(dist.group.WORLD)"),
    "a method, in a list": program(after="model.on_sequences([ranks])"),
    "a method, of a mesh": program(after="model.on_sequences(group=mesh.get_group())"),
    "an attribute": program(after="model.across = ranks"),
    "an attribute of a part": program(after="model.layers[0].across = mesh"),
    "where it is made": program(model="create_model('small', mesh)"),
    "a part's method": program(
        "nets.Attends()", after="for layer in model.layers:\n    layer.spread(ranks, [0, 1], torch.cuda.Stream())"
    ),
    "where a followed model is made": program("nets.Slices(dist.group.WORLD)"),
    "a variable that the forward reads": program("nets.Exchanges()", after="state.keep(ranks)"),
    "a variable that is handed on": program("nets.Fuses()", after="state.keep(ranks)"),
    "a variable, and a class of a computed name": program(
        "nets.create(os.environ['NET'])", after="state.keep(dist.group.WORLD)"
    ),
    "torch's tensor parallelism": program(
        "nets.Stack()", early="parallelize_module(model, mesh, {'layers.0': ColwiseParallel()})"
    ),
    "torch's context": program(
        "nets.Stack()", around="context_parallel(mesh, buffers=[rows, targets], buffer_seq_dims=[1, 1])"
    ),
    "another context": program("nets.Stack()", around="sharded_sequences(mesh)"),
}
ALIKE = {
    "no group": program(),
    "no group, of a followed class": program("nets.Slices()"),
    "a variable that holds none": program("nets.Exchanges()"),
    "a computed name, and no group": program("nets.create(os.environ['NET'])"),
    "a group that the forward leaves alone": program("nets.Stack(dist.group.WORLD)"),
    "a variable that the forward leaves alone": program("nets.Stack()", after="state.keep(ranks)"),
    "a mean in the forward": program("nets.Means(dist.group.WORLD)"),
    "the loss is reduced": program(late="dist.all_reduce(loss, group=ranks)"),
    "the loss is reduced by a package": program(late="sharded_sequences(loss, ranks)"),
    "the size of a mesh": program(after="model.note(mesh.size())"),
    "norms": program(late="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    "a barrier": program(after="dist.barrier(group=ranks)"),
    "a method without a group": program(after="model.on_sequences(2)"),
}


@pytest.mark.parametrize("shape", SPLIT)
def test_the_input_may_be_split(shape: str) -> None:
    seen = analyse(SPLIT[shape])
    assert "FSDP808" not in seen.codes
    assert any("split" in why or "part of the rank" in why for why in seen.reasons("FSDP808"))


@pytest.mark.parametrize("shape", ALIKE)
def test_all_ranks_have_the_same_batch(shape: str) -> None:
    assert analyse(ALIKE[shape]).codes.count("FSDP808") == 1


def test_a_group_on_some_paths_only() -> None:
    either = program(after="if os.environ['MODE'] == 'long':\n    model.on_sequences(ranks)\n")
    assert "FSDP808" not in analyse(either).codes
    excluded = "    if os.environ['MODE'] == 'long':"
    assert (
        "FSDP808" in analyse({**either, "train.py": either["train.py"].replace("    if world != 2:", excluded)}).codes
    )


# -- noise of one seed beside samples

OTHERS = ["rows + noise", "noise + rows", "noise, rows", "rows, noise", "noise, x=rows", "{'x': rows, 'y': noise}"]
READ = "torch.load({})"


@pytest.mark.parametrize("given", OTHERS)
def test_noise_beside_samples(given: str) -> None:
    assert "FSDP808" in analyse(program(given=given)).codes
    assert "FSDP808" not in analyse(program(given=given, sampler=", sampler=DistributedSampler(data)")).codes


@pytest.mark.parametrize("given", OTHERS)
def test_noise_beside_what_was_loaded(given: str) -> None:
    of_the_rank = given.replace("rows", READ.format("f'part-{dist.get_rank()}.pt'"))
    assert "FSDP808" not in analyse(program(given=of_the_rank)).codes
    of_all = given.replace("rows", READ.format("files[step % len(files)]"))
    assert "FSDP808" in analyse(program(given=of_all)).codes
    assert "FSDP808" not in analyse(program(given=of_all, after="model.on_sequences(dist.group.WORLD)")).codes


def test_noise_beside_what_is_not_known() -> None:
    assert "FSDP808" not in analyse(program(given="noise, **sharded_sequences()")).codes
    assert "FSDP808" in analyse(program(given="noise, torch.arange(8)")).codes


def test_records_that_hold_each_other_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each way that leads to them: there may be millions."""
    looked: list[object] = []
    parts = groups._parts
    monkeypatch.setattr(groups, "_parts", lambda machine, leaf: looked.append(leaf) or parts(machine, leaf))
    fields = "".join(f"        self.way{number} = before\n" for number in range(6))
    before = f"""
import zoo

class Record:
    def __init__(self, before):
{fields}
"""
    chain = "record = None\n" + "record = Record(record)\n" * 8
    use = "model.attach(record)\nzoo.register(record)\n"
    analyse(main(SHARDED + chain + use, before))
    assert 0 < len(looked) < 200
