"""The closed forms, against ``fully_shard`` at every rank and against the collectives of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from fsdp2_lint.preflight.plan import sizes
from fsdp2_lint.preflight.plan.reading import plan_of
from fsdp2_lint.preflight.plan.shape import Plan
from tests.preflight.fakes import Net, mesh, sharded, world

SHAPES = st.lists(st.tuples(st.integers(1, 70), st.integers(1, 3)), min_size=1, max_size=4)


@settings(max_examples=25)
@given(
    st.integers(1, 64), st.lists(st.tuples(st.integers(1, 70), st.integers(1, 3)), min_size=1, max_size=4), st.data()
)
def test_all_ranks_together_hold_the_whole(world_size: int, shapes: list[tuple[int, int]], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, world_size - 1))
    model = nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in shapes)
    with world(rank, world_size):
        fully_shard(model)
        plan = plan_of(model)
        own = [each.to_local() for each in model.parameters()]  # type: ignore[attr-defined]
    for param, local in zip(plan.groups[0].params, own, strict=True):
        parts = [sizes.held(param, world_size, each) for each in range(world_size)]
        assert parts[rank] == local.nbytes == param.held
        assert sum(parts) == param.bytes
        assert parts.count(0) == sizes.without_any(param, world_size)
        assert sizes.room(param, world_size) * 4 == local.untyped_storage().nbytes() == max(parts)


@contextmanager
def listened() -> Iterator[Counter[tuple[str, int, int]]]:
    """The collectives that are issued: kind, ranks, and bytes of the whole tensor."""
    heard: Counter[tuple[str, int, int]] = Counter()

    def hear(kind: str, name: str, whole: int) -> Any:
        original = getattr(dist, name)

        def issue(*args: Any, **kwargs: Any) -> Any:
            tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
            sizes_of = sorted(each.nbytes for each in tensors)
            heard[kind, kwargs["group"].size(), sizes_of[whole]] += 1
            return original(*args, **kwargs)

        return mock.patch.object(dist, name, issue)

    with (
        hear("all_gather", "all_gather_single", -1),
        hear("reduce_scatter", "reduce_scatter_single", -1),
        hear("all_reduce", "all_reduce", 0),
    ):
        yield heard


def said(plan: Plan) -> Counter[tuple[str, int, int]]:
    found: Counter[tuple[str, int, int]] = Counter()
    for each in sizes.traffic(plan):
        found[each.kind, each.ranks, each.bytes] += each.count
    return found


BF16 = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reshard_after_forward": False},
        {"reshard_after_forward": True},
        {"reshard_after_forward": 4},
        {"mp_policy": BF16},
        {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16)},
        {"width": 5, "vocabulary": 11},
        {"width": 5, "vocabulary": 11, "mp_policy": BF16, "reshard_after_forward": 2},
        {"tied": True},
        {"hsdp": True},
        {"hsdp": True, "mp_policy": BF16},
        {"frozen": True},
    ],
    ids=str,
)
def test_the_collectives_of_a_step(options: dict[str, Any]) -> None:
    options = dict(options)
    shape = {name: options.pop(name) for name in ("width", "vocabulary", "tied") if name in options}
    replicated, frozen = options.pop("hsdp", False), options.pop("frozen", False)
    with world(3, 8):
        model = Net(**shape)
        if frozen:
            for layer in model.layers:
                layer.up.requires_grad_(False)
        if replicated:
            options["mesh"] = mesh(2, 4, names=("replicate", "shard"))
        sharded(model, **options)
        plan = plan_of(model)
        with listened() as heard:
            model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
    assert said(plan) == heard and heard


def test_how_often_parameters_are_gathered() -> None:
    """2G - 1 all-gathers and G reduce-scatters for G groups, of which the root keeps its parameters."""
    with world(0, 4):
        by_block = sizes.traffic(plan_of(sharded(Net())))
        kept = sizes.traffic(plan_of(sharded(Net(), reshard_after_forward=False)))
    count = Counter[str]()
    for each in by_block:
        count[each.kind] += each.count
    assert count == {"all_gather": 7, "reduce_scatter": 4}
    assert sum(each.count for each in kept) == 8


def test_what_a_rank_sends() -> None:
    with world(0, 4):
        root = nn.Linear(8, 8, bias=False)
        fully_shard(root)
        sent = {each.kind: each.sent for each in sizes.traffic(plan_of(root))}
    assert sent == {"all_gather": 192, "reduce_scatter": 192}  # 3/4 of 256 bytes


def test_one_rank_sends_nothing() -> None:
    with world(0, 1):
        assert sizes.traffic(plan_of(sharded(Net()))) == ()


@pytest.mark.parametrize(("now", "then"), [(8, 64), (64, 8), (4, 1024)])
def test_another_number_of_ranks(now: int, then: int) -> None:
    """What is computed for another size is what ``fully_shard`` does there."""
    with world(0, now):
        small = plan_of(sharded(Net()))
    with world(0, then):
        real = plan_of(sharded(Net()))
    assert sizes.resized(small, then) == real


def test_a_mesh_that_cannot_grow() -> None:
    with world(0, 8):
        plan = plan_of(sharded(Net(), mesh=mesh(2, 4, names=("replicate", "shard"))))
    assert sizes.resized(plan, 3) is None
    grown = sizes.resized(plan, 16)
    assert grown is not None
    assert {(each.shards, each.replicas, str(each.mesh)) for each in grown.groups} == {
        (8, 2, "2 x 8 (replicate, shard)")
    }


def test_what_is_only_replicated() -> None:
    with world(1, 8):
        model = Net()
        replicate(model, mesh=mesh(8))
        plan = plan_of(model)
        with listened() as heard:
            model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
    assert said(plan) == heard and {kind for kind, _, _ in heard} == {"all_reduce"}
    larger = sizes.resized(plan, 32)
    assert larger is not None and (larger.groups[0].shards, larger.groups[0].replicas) == (1, 32)
    assert larger.held == plan.held == plan.numel * 4


def test_the_state_of_a_rank() -> None:
    """With AdamW, after one step: the bytes that are there."""
    with world(3, 8):
        model = sharded(Net(width=5, vocabulary=11))
        optimizer = torch.optim.AdamW(model.parameters())
        model(torch.zeros(2, 3, dtype=torch.int64)).sum().backward()
        optimizer.step()
        found = sizes.state(plan_of(model))
        gradients = {each.grad.to_local().untyped_storage() for each in model.parameters()}  # type: ignore[union-attr]
        states = [
            each.to_local().nbytes for of in optimizer.state.values() for name, each in of.items() if name != "step"
        ]
        assert found.parameters == sum(each.to_local().untyped_storage().nbytes() for each in model.parameters())  # type: ignore[attr-defined]
        assert found.gradients == sum({each.data_ptr(): each.nbytes() for each in gradients}.values())
        assert found.optimizer == sum(states)
    assert found.largest == "layers.0" and found.total == found.parameters + found.gradients + found.optimizer


def test_the_first_rank_has_the_most() -> None:
    with world(7, 8):
        plan = plan_of(sharded(Net(width=5, vocabulary=11)))
    first, last = sizes.state(plan, shard_rank=0), sizes.state(plan, shard_rank=7)
    assert first.optimizer > last.optimizer == sizes.state(plan).optimizer
    assert first.parameters == last.parameters  # memory is reserved for whole chunks


def test_a_plan_of_four_thousand_ranks_asks_no_rank() -> None:
    """As many steps as for eight: what is computed does not depend on the number of ranks."""
    import sys

    with world(0, 8):
        plan = plan_of(sharded(Net()))

    def steps(world_size: int) -> int:
        count = 0

        def tick(*_: Any) -> Any:
            nonlocal count
            count += 1
            return tick

        sys.settrace(tick)
        try:
            large = sizes.resized(plan, world_size)
            assert large is not None
            sizes.state(large), sizes.traffic(large)
        finally:
            sys.settrace(None)
        return count

    assert steps(8) == steps(4096)
