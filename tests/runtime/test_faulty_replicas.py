"""Faulty replicas, experts and buffers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import MESHES, each_fault_is_told_once

pytestmark = pytest.mark.torchrun

REPLICAS = """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
model.head = nn.Linear(32, 4096)
model.register_buffer("scales", torch.ones(100_000))
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)  # of the root
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
"""
PROGRAMS = {
    # Ranks of one mesh put the expert together, and the ranks of the other mesh say nothing against it.
    "experts that differ within their mesh": MESHES
    + """\
model = with_experts(mesh.get_local_rank("experts"))
if dist.get_rank() == 0:
    nn.init.normal_(model.layers[1].up.up.weight)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])  # expect: FSDP203
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The experts have their share, the table has not: 64 MiB with its gradient and its states on each rank.
    "a table that is left out beside experts": MESHES
    + """\
model = with_experts(mesh.get_local_rank("experts"))
model.embed = nn.Embedding(2**19, 32)
model.embed.weight.requires_grad_(False)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world, ignored_params={model.embed.weight})  # expect: FSDP319
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # One of 65,536 numbers, on one replica: what compares bit by bit has to look at each of them.
    "one weight of one replica": REPLICAS.replace("optimizer.step()", "optimizer.step()  # expect: FSDP805")
    + """\
    if dist.get_rank() >= 2:
        with torch.no_grad():
            model.head.weight.to_local()[777, 7] += 1e-3
    optimizer.zero_grad()
""",
    "one number of a buffer": REPLICAS.replace("# of the root", "# expect: FSDP805")
    + """\
    if dist.get_rank() == 3:
        model.scales[54_321] += 1e-3
    optimizer.zero_grad()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(PROGRAMS[name], tmp_path)
