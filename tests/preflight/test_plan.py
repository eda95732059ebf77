"""The plan says of a sharded model what ``fully_shard`` itself did, in each way in which people shard."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from fsdp2_lint.preflight.plan import sizes
from fsdp2_lint.preflight.plan.reading import plan_of
from fsdp2_lint.preflight.plan.shape import Plan
from tests.preflight.fakes import Net, mesh, sharded, with_experts, world


def assert_true(plan: Plan, model: nn.Module) -> None:
    """Each parameter of the plan has the bytes that the model's own has, and those of the closed form."""
    real = {name: each for name, each in model.named_parameters() if isinstance(each, DTensor)}
    planned = {each.fqn: (group, each) for group in plan.groups for each in group.params}
    assert planned.keys() == real.keys()
    for name, (group, param) in planned.items():
        local = real[name].to_local()
        assert param.held == local.nbytes
        assert sizes.local_shape(param, group.shards, group.shard_rank) == tuple(local.shape)
        assert sizes.held(param, group.shards, group.shard_rank) == local.nbytes
        # The root of the memory of a shard is what torch reserved for it: a whole chunk.
        assert sizes.room(param, group.shards) * param.itemsize == local.untyped_storage().nbytes()
        assert param.whole == tuple(real[name].shape)


def test_a_stack_of_blocks() -> None:
    with world(1, 4):
        model = sharded(Net())
        plan = plan_of(model)
        assert_true(plan, model)
    assert (plan.rank, plan.world_size, plan.label) == (1, 4, "Net")
    assert [each.name for each in plan.groups] == ["(root)", "layers.0", "layers.1", "layers.2"]
    assert [each.reshards for each in plan.groups] == [False, True, True, True]  # the root keeps its parameters
    assert [each.root for each in plan.groups] == [True, False, False, False]
    root = plan.groups[0]
    assert [each.fqn for each in root.params] == ["embed.weight", "head.weight"]
    assert (root.shards, root.shard_rank, root.replicas, str(root.mesh)) == (4, 1, 1, "4")
    assert plan.numel == sum(each.numel() for each in Net().parameters())
    assert not plan.loose and plan.held * 4 == plan.numel * 4


def test_the_plan_is_the_same_after_the_first_forward() -> None:
    with world(0, 4):
        model = sharded(Net())
        before = plan_of(model)
        model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
        assert plan_of(model) == before


def test_replicas() -> None:
    with world(5, 8):
        model = sharded(Net(), mesh=mesh(2, 4, names=("replicate", "shard")))
        plan = plan_of(model)
        assert_true(plan, model)
    group = plan.groups[1]
    assert (group.shards, group.shard_rank, group.replicas) == (4, 1, 2)
    assert str(group.mesh) == "2 x 4 (replicate, shard)"
    assert group.params[0].placements == ("R", "S(0)")


def test_tensor_parallel() -> None:
    with world(5, 8):
        grid = mesh(4, 2, names=("dp", "tp"))
        model = Net(width=16)
        for layer in model.layers:
            parallelize_module(layer, grid["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        sharded(model, mesh=grid["dp"])
        plan = plan_of(model)
        assert_true(plan, model)
    up = next(each for each in plan.groups[1].params if each.fqn.endswith("up.weight"))
    assert (up.shape, up.whole) == ((32, 16), (64, 16))
    assert plan.numel == sum(each.numel() for each in Net(width=16).parameters())


def test_experts_on_a_mesh_of_their_own() -> None:
    with world(6, 8):
        model = with_experts()
        plan = plan_of(model)
        assert_true(plan, model)
    assert {each.name: each.shards for each in plan.groups}["layers.0.up"] == 4
    assert {each.name: each.shards for each in plan.groups}["layers.0"] == 8
    assert "layers.0.up.weight" not in [each.fqn for each in plan.groups[1].params]


def test_tied_weights_count_once() -> None:
    with world(0, 2):
        model = sharded(Net(tied=True))
        plan = plan_of(model)
        assert_true(plan, model)
    assert [(each.fqn, each.also) for each in plan.groups[0].params] == [("embed.weight", ("head.weight",))]
    assert plan.numel == sum(each.numel() for each in Net(tied=True).parameters())


def test_resharding_to_some_ranks() -> None:
    with world(0, 8):
        model = sharded(Net(), reshard_after_forward=2)
        plan = plan_of(model)
        assert_true(plan, model)
    assert [each.reshards for each in plan.groups] == [2, 2, 2, 2]  # the root too, since it was said


@pytest.mark.parametrize("rank", [0, 2, 6, 7])
def test_uneven_and_empty_shards(rank: int) -> None:
    with world(rank, 8):
        model = sharded(Net(width=5, vocabulary=11))
        assert_true(plan := plan_of(model), model)
    embed = plan.groups[0].params[0]
    assert sizes.is_uneven(embed, 8) and sizes.without_any(embed, 8) == 2  # 2 rows each for five, 1 for one
    assert [sizes.rows(11, 8, each) for each in range(8)] == [2, 2, 2, 2, 2, 1, 0, 0]


def test_blocks_without_their_root() -> None:
    with world(0, 2):
        model = Net()
        for layer in model.layers:
            fully_shard(layer)
        model.embed.weight.requires_grad_(False)
        plan = plan_of(model)
    assert [(each.fqn, each.bytes, each.trained) for each in plan.loose] == [
        ("embed.weight", 1024, False),
        ("head.weight", 1024, True),
    ]
    assert all(each.root and each.reshards is False for each in plan.groups)


def test_policies() -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    with world(0, 2):
        plan = plan_of(sharded(Net(), mp_policy=policy, offload_policy=CPUOffloadPolicy(pin_memory=False)))
        low = plan_of(sharded(Net(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)))
        plain = plan_of(sharded(Net()))
    group = plan.groups[0]
    assert (group.params[0].dtype, group.params[0].gathered_dtype, group.reduce_dtype) == (
        "float32",
        "bfloat16",
        "float32",
    )
    assert group.offloaded and sizes.state(plan).parameters == 0 and sizes.state(plan).host
    assert low.groups[0].reduce_dtype == "bfloat16" and not low.groups[0].offloaded
    assert (plain.groups[0].params[0].gathered_itemsize, plain.groups[0].reduce_itemsize) == (4, 4)


def test_shards_along_another_dimension() -> None:
    from torch.distributed.tensor import Shard

    with world(3, 4):
        model = sharded(Net(), shard_placement_fn=lambda each: Shard(each.ndim - 1))
        plan = plan_of(model)
        assert_true(plan, model)
    assert {each.dimension for group in plan.groups for each in group.params if len(each.shape) == 2} == {1}


def test_a_model_that_nobody_sharded_has_no_groups() -> None:
    plan = plan_of(Net())
    assert not plan.groups and len(plan.loose) == len(list(Net().parameters()))
    assert sizes.state(plan).largest == "" and sizes.traffic(plan) == ()
