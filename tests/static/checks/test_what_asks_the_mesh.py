"""What only asks a mesh exchanges nothing, and that it has several ranks is so of all models that matter."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = "from torch.distributed.device_mesh import init_device_mesh\n"
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
REPLICAS = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (4, 8), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["shard"])
fully_shard(model, mesh=mesh["shard"])
"""


@pytest.mark.parametrize(
    "asked", ["", "print(tuple(mesh.shape))", "print(mesh.ndim, mesh.mesh_dim_names)", 'print(mesh["replicate"].shape)']
)
def test_replicas_are_forgotten_whatever_is_printed_of_the_mesh(asked: str) -> None:
    assert "FSDP308" in analyse(script(REPLICAS + asked + TRAIN, IMPORTS)).codes


@pytest.mark.parametrize("used", ['group = mesh["replicate"].get_group()', "ranks = mesh.mesh"])
def test_who_takes_ranks_out_of_the_mesh_may_reduce_over_the_replicas(used: str) -> None:
    assert "FSDP308" not in analyse(script(REPLICAS + used + TRAIN, IMPORTS)).codes


DIVIDED = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("shard",))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
if ASKED:
    model.set_gradient_divide_factor(1.0)
"""


@pytest.mark.parametrize("asked", ["mesh.size() > 1", "mesh.size() >= 2", "not mesh.size() <= 1"])
def test_several_ranks_share_each_model_that_matters(asked: str) -> None:
    assert "FSDP616" in analyse(script(DIVIDED.replace("ASKED", asked) + TRAIN, IMPORTS)).codes


@pytest.mark.parametrize("asked", ["mesh.size() < 2", "mesh.size(0) == 1", "mesh.ndim == 2"])
def test_another_question_may_tell_one_strategy_from_another(asked: str) -> None:
    assert "FSDP616" not in analyse(script(DIVIDED.replace("ASKED", asked) + TRAIN, IMPORTS)).codes
