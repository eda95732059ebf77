"""Ranks that hold parts of the same layers, and data that the rank in the job deals out (FSDP808)."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, NET, analyse

IMPORTS = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module
)
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from theirs import Theirs
"""
COLUMNS = '{"up": ColwiseParallel(), "down": RowwiseParallel()}'
TRAIN = """
def sharded(mesh, tensor):
    model = Net().to("meta").to_empty(device="cuda")
    for layer in model.layers:
        parallelize_module(layer, tensor, {plan})
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    for p in model.parameters():
        nn.init.normal_(p)
    return model

def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", {shape}, mesh_dim_names=("dp", "tp"))
    model = sharded(mesh, mesh["tp"])
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.arange(6400).view(-1, 8) % 100)
    rank, dp = dist.get_rank(), mesh["dp"].get_local_rank()
    {loader}
    for (tokens,) in loader:
        {batch}
        model(tokens.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

main()
"""
SAMPLED = "loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False{}))"
DRAWN = """tokens = torch.randint(0, 100, (4, 8), generator=torch.Generator().manual_seed({}))"""
PLAIN = "loader = DataLoader(data, batch_size=4)"


def _codes(loader: str = PLAIN, batch: str = "pass", plan: str = COLUMNS, shape: str = "(2, 4)") -> list[str]:
    return analyse(f"{HEAD}{IMPORTS}{NET}{TRAIN.format(loader=loader, batch=batch, plan=plan, shape=shape)}").codes


@pytest.mark.parametrize(
    "rank", ["", ", rank=rank", ", num_replicas=dist.get_world_size(), rank=int(os.environ['RANK'])"]
)
def test_a_sampler_that_deals_out_by_the_rank_in_the_job(rank: str) -> None:
    assert _codes(SAMPLED.format(rank)) == ["FSDP808"]
    assert _codes(
        SAMPLED.format(rank), plan='{"up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel()}'
    ) == ["FSDP808"]


@pytest.mark.parametrize("seed", ["rank", "7 + rank", "1000 * rank + 7", "hash((7, 3, rank)) % 2**31"])
def test_batches_that_are_drawn_by_it(seed: str) -> None:
    assert _codes(batch=DRAWN.format(seed)) == ["FSDP808"]


@pytest.mark.parametrize(
    "seed",
    [
        "dp",
        "7 + dp",
        "hash((7, 3, dp)) % 2**31",
        "rank // 4",
        "(rank - 0) // 4",
        "hash((7, rank // 4))",
        "7",
        "0 * rank",
        "hash((7, rank)) % 2",
        "rank * int(sys.argv[1])",
    ],
)
def test_batches_that_such_ranks_share(seed: str) -> None:
    assert "FSDP808" not in _codes(batch=DRAWN.format(seed))


@pytest.mark.parametrize("rank", [', num_replicas=mesh["dp"].size(), rank=dp', ", num_replicas=2, rank=rank // 4"])
def test_a_sampler_that_deals_out_by_the_rank_among_replicas(rank: str) -> None:
    assert _codes(SAMPLED.format(rank)) == []


@pytest.mark.parametrize("plan", [
    '{"up": ColwiseParallel(input_layouts=Shard(0)), "down": RowwiseParallel(output_layouts=Shard(0))}',
    '{"up": Theirs(), "down": RowwiseParallel()}',
    '{"up": ColwiseParallel(input_layouts=theirs.LAYOUT), "down": RowwiseParallel()}',
    '{"up": SequenceParallel()}',
])  # fmt: skip
def test_layers_that_may_take_inputs_of_their_own(plan: str) -> None:
    assert _codes(SAMPLED.format(""), plan=plan) == []


def test_one_rank_holds_all_of_a_layer() -> None:
    assert _codes(SAMPLED.format(""), shape="(8, 1)") == []


@pytest.mark.parametrize("exchange", [
    'dist.broadcast(tokens, 0, group=mesh["tp"].get_group())',
    'dist.broadcast(tokens, group_src=0, group=mesh["tp"].get_group())',
    'tokens = dist.nn.functional.broadcast(tokens, 0, group=mesh["tp"].get_group())',
    "tokens = Theirs().share(tokens)",
])  # fmt: skip
def test_what_such_ranks_bring_together(exchange: str) -> None:
    assert "FSDP808" not in _codes(SAMPLED.format(""), batch=exchange)


@pytest.mark.parametrize(("sampler", "wrong"), [
    ("DistributedSampler(data, dp_size, dp) if tp > 1 else DistributedSampler(data)", False),
    ("DistributedSampler(data, dp_size, dp) if dp_size < dist.get_world_size() else DistributedSampler(data)", False),
    ("DistributedSampler(data, dp_size, dp) if tp == 1 else DistributedSampler(data)", True),
    ("DistributedSampler(data, seed=1) if dp_size < dist.get_world_size() else DistributedSampler(data)", True),
])  # fmt: skip
def test_where_layers_are_divided_another_sampler_may_be_taken(sampler: str, wrong: bool) -> None:
    loader = f"""dp_size, tp = mesh["dp"].size(), int(os.environ["TP"])
    loader = DataLoader(data, batch_size=4, sampler={sampler})"""
    program = TRAIN.format(loader=loader, batch="pass", plan=COLUMNS, shape="(2, 4)")
    program = program.replace(
        "        parallelize_module", "        if int(os.environ['TP']) > 1:\n            parallelize_module"
    )
    assert ("FSDP808" in analyse(f"{HEAD}{IMPORTS}{NET}{program}").codes) is wrong
