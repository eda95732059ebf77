"""What another plan would give is what ``fully_shard`` gives for it."""

from __future__ import annotations

import pytest
from torch.distributed.fsdp import fully_shard

from fsdp2_lint.preflight.plan.reading import plan_of
from fsdp2_lint.preflight.plan.shape import Alternative, Plan
from fsdp2_lint.preflight.plan.what_if import AS_IT_IS, alternatives, measured
from tests.preflight.fakes import Net, mesh, sharded, with_experts, world


def by_block() -> Plan:
    return plan_of(sharded(Net(width=12, vocabulary=50)))


def root_only() -> Plan:
    model = Net(width=12, vocabulary=50)
    fully_shard(model)
    return plan_of(model)


def kept() -> Plan:
    return plan_of(sharded(Net(width=12, vocabulary=50), reshard_after_forward=False))


def replicated() -> Plan:
    return plan_of(sharded(Net(width=12, vocabulary=50), mesh=mesh(4, 8, names=("replicate", "shard"))))


def real(make: object, name: str) -> Alternative:
    with world(0, 32):
        return measured(name, "", make())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("start", "name", "other"),
    [
        (by_block, "root only", root_only),
        (by_block, "no reshard", kept),
        (by_block, "HSDP", replicated),
        (root_only, "per block", by_block),
        (kept, "per block", by_block),
    ],
)
def test_the_others_are_as_they_would_be(start: object, name: str, other: object) -> None:
    with world(0, 32):
        found = {each.name: each for each in alternatives(start(), 8)}  # type: ignore[operator]
    expected = real(other, name)
    assert (found[name].state, found[name].gathered, found[name].gradients) == (
        expected.state,
        expected.gathered,
        expected.gradients,
    )
    assert (found[name].sent, found[name].collectives) == (expected.sent, expected.collectives)
    assert found[AS_IT_IS] == real(start, AS_IT_IS)


def test_what_is_no_other_plan_is_left_out() -> None:
    with world(0, 8):
        names = [each.name for each in alternatives(by_block(), 8)]
    assert names == [AS_IT_IS, "root only", "no reshard"]  # one node, by block already


def test_root_only_has_all_parameters_at_once() -> None:
    with world(0, 32):
        found = {each.name: each for each in alternatives(by_block(), 8)}
    numbers = sum(each.numel() for each in Net(width=12, vocabulary=50).parameters()) * 4
    assert found["root only"].gradients == numbers <= found["root only"].gathered
    assert found["root only"].total > found[AS_IT_IS].total
    assert found["HSDP"].state > found[AS_IT_IS].state  # over fewer ranks
    assert found["HSDP"].sent < found[AS_IT_IS].sent + found[AS_IT_IS].gathered


def test_experts_stay_on_their_mesh() -> None:
    with world(0, 8):
        model = with_experts()
        plan = plan_of(model)
        found = {each.name: each for each in alternatives(plan, 4)}
    assert found["root only"].state == found[AS_IT_IS].state
    assert found["root only"].collectives == 4  # a gather and a reduction on each mesh


def test_nothing_sharded_has_no_other_plan() -> None:
    assert [each.name for each in alternatives(plan_of(Net()), 8)] == [AS_IT_IS]
