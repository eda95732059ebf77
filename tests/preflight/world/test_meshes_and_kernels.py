"""Meshes of several dimensions, tensor parallelism, and what GPUs have kernels for and CPUs have not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.preflight.world import Depth
from tests.preflight.world.inside import attempt, rehearse
from tests.preflight.world.test_objects_and_files import BEGIN

HYBRID = """
    mesh = init_device_mesh("cuda", (world_size // 8, 8), mesh_dim_names=("replicate", "shard"))
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)).cuda()
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model(torch.ones(2, 64, device="cuda")).sum().backward()
    groups = [dist.get_process_group_ranks(mesh.get_group(name)) for name in ("replicate", "shard")]
    SAID = tuple(model[0].weight.to_local().shape), mesh.get_coordinate(), groups[0][:2], groups[1]
"""


@pytest.mark.parametrize("depth", ["real", "step"])
def test_hybrid_sharding(tmp_path: Path, depth: Depth) -> None:
    seen = rehearse(tmp_path, BEGIN + HYBRID, rank=11, depth=depth)
    shape, coordinate, replicas, shards = seen.said
    assert (shape, tuple(coordinate)) == ((8, 64), (1, 3))
    assert (replicas, shards) == ([3, 11], [8, 9, 10, 11, 12, 13, 14, 15])


TENSOR_PARALLEL = """
    import torch.nn.functional as F
    from torch.distributed.tensor import DTensor, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (world_size // 4, 4), mesh_dim_names=("dp", "tp"))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(64, 64, bias=False) for _ in range(4))

        def forward(self, x):
            q, k, v = (each(x).unflatten(-1, (8, 8)).transpose(1, 2) for each in (self.q, self.k, self.v))
            return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    with torch.device("meta"):
        model = Attention()
    apart = {name: ColwiseParallel(use_local_output=False) for name in "qkv"}
    parallelize_module(model, mesh["tp"], {**apart, "o": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    model.to_empty(device="cuda")
    for parameter in model.parameters():
        nn.init.ones_(parameter)
    optimizer = torch.optim.AdamW(model.parameters())
    loss = model(torch.ones(2, 5, 64, device="cuda")).sum()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    SAID = tuple(model.q.weight.to_local().shape), tuple(model.q.weight.grad.to_local().shape)
"""


@pytest.mark.parametrize("depth", ["real", "step"])
def test_tensor_parallelism_with_sharding(tmp_path: Path, depth: Depth) -> None:
    seen = rehearse(tmp_path, BEGIN + TENSOR_PARALLEL, world_size=32, depth=depth)
    assert seen.said == ((2, 64), (2, 64))


def test_attention_that_is_shared_otherwise_is_refused(tmp_path: Path) -> None:
    text = (
        TENSOR_PARALLEL.split("class Attention")[0]
        + """
    q = distribute_tensor(torch.ones(2, 8, 4, 8, device="cuda"), mesh["tp"], [Shard(2)])
    F.scaled_dot_product_attention(q, q, q)
    """
    )
    seen = attempt(tmp_path, BEGIN + text, world_size=32, depth="step")
    assert "CannotRehearse: attention over tensors" in seen.error


EXPERTS = """
    mesh = init_device_mesh("cuda", (world_size // 4, 4), mesh_dim_names=("dp", "ep"))
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)).cuda()
    fully_shard(model[0], mesh=mesh["dp"])
    flat = mesh._flatten("all")
    fully_shard(model, mesh=flat)
    SAID = [tuple(each.to_local().shape) for each in (model[0].weight, model[1].weight)]
"""


@pytest.mark.parametrize("depth", ["real", "plan"])
def test_experts_have_a_mesh_of_their_own(tmp_path: Path, depth: Depth) -> None:
    assert rehearse(tmp_path, BEGIN + EXPERTS, world_size=32, depth=depth).said == [(8, 64), (2, 64)]


KERNELS = """
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cuda")
    q = torch.ones(1, 4, 128, 16, device="cuda", requires_grad=True)
    out = torch.compile(flex_attention)(q, q[:, :2], q[:, :2], block_mask=mask, enable_gqa=True)
    out.sum().backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = q * 2
    graph.replay()
    SAID = tuple(out.shape), tuple(q.grad.shape), torch.accelerator.current_accelerator().type
"""


def test_kernels_and_graphs(tmp_path: Path) -> None:
    seen = rehearse(tmp_path, BEGIN + KERNELS, depth="step")
    assert seen.said == ((1, 4, 128, 16), (1, 4, 128, 16), "cuda")
    assert seen.limit("flex_attention").site is not None and seen.limit("graph is replayed").site is not None


ROUTED = """
    mesh = init_device_mesh("cuda", (world_size // 4, 4), mesh_dim_names=("dp", "ep"))
    tokens = torch.randn(64, 8, device="cuda")
    expert = torch.randn(64, 8, device="cuda").argmax(dim=-1)
    counts = COUNTS
    theirs = torch.empty_like(counts)
    dist.all_to_all_single(theirs, counts, group=mesh.get_group("ep"))
    sends, gets = (each.view(4, -1).sum(dim=1).tolist() for each in (counts, theirs))
    got = tokens.new_empty(sum(gets), 8)
    dist.all_to_all_single(got, tokens, gets, sends, group=mesh.get_group("ep"))
    SAID = sends, gets, tuple(got.shape)
"""


@pytest.mark.parametrize("count", ["torch.bincount(expert, minlength=8)", "torch.histc(expert, bins=8, min=0, max=8)"])
def test_tokens_of_experts_are_spread_evenly(tmp_path: Path, count: str) -> None:
    seen = rehearse(tmp_path, BEGIN + ROUTED.replace("COUNTS", count), world_size=32, depth="step")
    assert seen.said == ([16] * 4, [16] * 4, (64, 8))
    assert seen.limit("spread evenly").site is not None


COUNTED = 'torch.zeros(8, device="cuda").long().scatter_add_(0, expert, torch.ones_like(expert))'
MADE_BY_THE_COLLECTIVE = """
    from torch.distributed._functional_collectives import all_to_all_single
    got = all_to_all_single(tokens, gets, sends, mesh["ep"])
    back = all_to_all_single(got, sends, gets, mesh["ep"])
    SAID = sends, gets, tuple(got.shape), tuple(back.shape)
"""


def test_tokens_are_spread_evenly_where_the_collective_makes_the_output(tmp_path: Path) -> None:
    text = ROUTED.replace("COUNTS", COUNTED).split("    got =")[0] + MADE_BY_THE_COLLECTIVE
    seen = rehearse(tmp_path, BEGIN + text, world_size=32, depth="step")
    assert seen.said == ([16] * 4, [16] * 4, (64, 8), (64, 8))
    assert seen.limit("how many rows each rank sends and gets").site is not None


def test_tokens_that_are_counted_otherwise_are_refused(tmp_path: Path) -> None:
    seen = attempt(tmp_path, BEGIN + ROUTED.replace("COUNTS", COUNTED), world_size=32, depth="step")
    assert "CannotRehearse: the values of tensors decide" in seen.error
