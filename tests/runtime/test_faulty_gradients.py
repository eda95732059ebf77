"""Faulty ways with gradients that are added up, and with what is gathered."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import each_fault_is_told_once

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # How many micro-batches an epoch has, only a job knows.
    "a micro-batch that is left over at the end of an epoch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()  # expect: FSDP615
    for step in range(5):
        model.set_requires_gradient_sync(step % 2 == 1)
        loss_of(model, step).backward()
        if step % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
""",
    "a micro-batch that is left over in replicas": """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.zero_grad()  # expect: FSDP615
    for step in range(3):
        model.set_requires_all_reduce(step % 2 == 1)
        loss_of(model, step).backward()
        if step % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
""",
    "a clipping of all but the last micro-batch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    model.set_requires_gradient_sync(step % 2 == 1)
    loss_of(model, step).backward()
    if step % 2 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # expect: FSDP614
    else:
        optimizer.step()
        optimizer.zero_grad()
""",
    "an all-gather that is under way at the step": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    handle = model.layers[0].unshard(async_op=True)  # expect: FSDP407
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(PROGRAMS[name], tmp_path)
