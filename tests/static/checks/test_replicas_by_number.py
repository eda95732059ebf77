"""A dimension of replicas is left out where a program has found that it has none (FSDP308)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

TEXT = """
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    replicas = int(os.environ["REPLICAS"])
    shape = (replicas, dist.get_world_size() // replicas)
    grid = init_device_mesh("cuda", shape, mesh_dim_names=("replicate", "shard"))
    mesh = MESH
    model = Net()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in torch.load("batches.pt"):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
ASKED = [
    'grid if grid.size(0) > 1 else grid["shard"]',
    'grid if grid["replicate"].size() > 1 else grid["shard"]',
    'grid if grid.shape[0] != 1 else grid["shard"]',
    'grid["shard"] if replicas == 1 else grid',
]
LEFT_OUT = ['grid["shard"]', 'grid if os.environ.get("HSDP") else grid["shard"]']


def said(mesh: str) -> set[str]:
    text = script(TEXT.replace("MESH", mesh), "from torch.distributed.device_mesh import init_device_mesh\n")
    return analyse(text).verdicts("FSDP308")


@pytest.mark.parametrize("mesh", ASKED)
def test_what_asks_how_many_replicas_there_are(mesh: str) -> None:
    assert said(mesh) == {"unknown"}


@pytest.mark.parametrize("mesh", LEFT_OUT)
def test_what_asks_something_else(mesh: str) -> None:
    assert said(mesh) == {"violated"}
