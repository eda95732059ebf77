"""Data on a mesh that shards inside each replica: every rank of the mesh needs batches of its own."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """\
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
"""
PROGRAM = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
world = dist.get_world_size()
mesh = init_device_mesh("cuda", (world // 8, 8), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=GIVEN)
fully_shard(model, mesh=GIVEN)
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.zeros(64, 8, dtype=torch.long))
sampler = DistributedSampler(data, RANKS, seed=3)
for (batch,) in DataLoader(data, sampler=sampler):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def verdicts(ranks: str, given: str = "mesh") -> set[str]:
    return analyse(script(PROGRAM.replace("RANKS", ranks).replace("GIVEN", given), IMPORTS)).verdicts("FSDP808")


@pytest.mark.parametrize(
    "ranks",
    [
        'num_replicas=mesh["shard"].size(), rank=mesh.get_local_rank("shard")',
        'num_replicas=8, rank=mesh["shard"].get_local_rank()',
        "num_replicas=8, rank=mesh.get_local_rank(mesh_dim=1)",
        'num_replicas=world // 8, rank=mesh["replicate"].get_local_rank()',
    ],
)
def test_one_dimension_deals_out_the_data(ranks: str) -> None:
    assert verdicts(ranks) == {"violated"}


@pytest.mark.parametrize(
    "ranks", ["num_replicas=world, rank=dist.get_rank()", "num_replicas=world, rank=mesh.get_rank()"]
)
def test_each_rank_has_its_own(ranks: str) -> None:
    assert "violated" not in verdicts(ranks)


def test_ranks_of_the_other_dimension_may_split_a_batch() -> None:
    assert verdicts('num_replicas=world // 8, rank=mesh["replicate"].get_local_rank()', 'mesh["replicate"]') == {
        "unknown"
    }


HEAD_APART = """
dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (2, 8), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["replicate", "shard"])
fully_shard(model.head, mesh=GIVEN)
fully_shard(model, mesh=mesh["replicate", "shard"])
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(1)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ('mesh["shard"]', "violated"),
        ('mesh["replicate", "shard"]', "upheld"),
        ('init_device_mesh("cuda", (16,))', "unknown"),
    ],
)
def test_a_head_of_one_replica(given: str, word: str) -> None:
    assert analyse(script(HEAD_APART.replace("GIVEN", given), IMPORTS)).verdicts("FSDP308") == {word}
