"""Correct experts: on meshes of their own, beside replicas, and left out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import MESHES, nothing_is_reported

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # Each rank of the mesh for experts has others, of 40 MiB: what is more than their share would count.
    "experts on a mesh of their own": MESHES
    + """\
model = with_experts(77 + mesh["experts"].get_local_rank(), 81920)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The same with replicas: a mesh of two dimensions for the model, and one of them for the experts.
    "experts beside replicas": MESHES.replace('"shard", "experts"', '"rows", "columns"')
    + """\
model = with_experts(5 + mesh["columns"].get_local_rank())
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["rows"])
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The ranks begin with equal experts, and train them with other tokens.
    "experts that FSDP2 ignores": """\
class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Experts(3)
        self.inner.register_buffer("load", torch.zeros(1))

    def forward(self, x):
        self.inner.load += dist.get_rank()
        return self.inner(Sent.apply(x))


class Sent(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        received = torch.empty_like(x)
        dist.all_to_all_single(received, x.contiguous())
        return received

    @staticmethod
    def backward(context, gradient):
        received = torch.empty_like(gradient)
        dist.all_to_all_single(received, gradient.contiguous())
        return received


model = Net()
model.layers[1].up = Routed()
own = set(model.layers[1].up.parameters())
for layer in model.layers:
    fully_shard(layer, ignored_params=own)
fully_shard(model, ignored_params=own)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    nothing_is_reported(PROGRAMS[name], tmp_path)
