"""Parameters that ``itertools.groupby`` puts into groups are those of the model."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

BEFORE = "from itertools import groupby\n"
BY_RATE = """
groups = []
for rate, found in groupby(model.parameters(), key=lambda p: getattr(p, "fixed_lr", None)):
    groups.append({"params": list(found), "lr": rate if rate else 1e-3})
"""
BY_SHAPE = """
groups = [{"params": [*found]} for _, found in groupby(list(model.parameters()), lambda p: p.ndim)]
"""
BY_NAME = """
named = sorted(model.named_parameters(), key=lambda pair: pair[0].split(".")[0])
groups = []
for prefix, found in groupby(named, key=lambda pair: pair[0].split(".")[0]):
    groups.append({"params": [p for _, p in found]})
"""
SHARDED = """
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
MADE = "optimizer = torch.optim.AdamW(groups)"
TRAINED = """
model(torch.randint(100, (4, 16), device="cuda")).sum().backward()
optimizer.step()
"""


def codes(*steps: str) -> list[str]:
    return analyse(script("\n".join(["model = Net()", *steps, TRAINED]), BEFORE)).codes


@pytest.mark.parametrize("grouped", [BY_RATE, BY_SHAPE, BY_NAME])
def test_an_optimizer_of_groups_is_one_of_the_model(grouped: str) -> None:
    assert "FSDP601" in codes(grouped, MADE, SHARDED)
    assert "FSDP601" not in codes(SHARDED, grouped, MADE)


@pytest.mark.parametrize("grouped", [BY_RATE, BY_SHAPE, BY_NAME])
def test_what_is_switched_off_stays_so_for_the_groups(grouped: str) -> None:
    off = "model.set_requires_gradient_sync(False)"
    assert "FSDP604" in codes(SHARDED, grouped, MADE, off)
    assert "FSDP604" not in codes(SHARDED, grouped, MADE)


def test_a_generator_is_spent_in_groups_once() -> None:
    assert "FSDP607" not in codes(SHARDED, BY_RATE, MADE)
