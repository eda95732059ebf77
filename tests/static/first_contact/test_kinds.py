"""``isinstance`` of state dicts, containers and tensors: helpers that walk nested data ask it at each level."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

WALK = """
import collections.abc
from typing import Mapping

def whole(held):
    if isinstance(held, DTensor):
        return {tensor}
    if torch.is_tensor(held):
        return held.cpu()
    if isinstance(held, {mapping}):
        return {{key: whole(value) for key, value in held.items()}}
    if isinstance(held, (list, tuple)):
        return type(held)(whole(value) for value in held)
    return held

def flat(held):
    assert isinstance(held, {mapping}) and not isinstance(held, (nn.Module, str))
    return {{key: value.full_tensor() if isinstance(value, DTensor) else value for key, value in held.items()}}

def one(value):
    return value.full_tensor() if isinstance(value, (DTensor, torch.nn.Module)) else value

def chosen(held):
    if isinstance(held, torch.Tensor):
        return one(held)
    return {{key: one(value) for key, value in held.items()}}
"""
MAPPINGS = ("dict", "Mapping", "collections.abc.Mapping", "(list, dict)")
SAVED = ("model.state_dict()", "{'model': model.state_dict()}", "{'step': 1, 'all': {'model': model.state_dict()}}")
SAVE = "torch.save(whole({saved}), 'model.pt')"


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_what_gathers_at_every_level_saves_no_shards(mapping: str, saved: str) -> None:
    before = WALK.format(mapping=mapping, tensor="held.full_tensor().cpu()")
    assert "FSDP701" not in analyse(main(SHARDED + SAVE.format(saved=saved), before)).codes


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_what_gathers_nothing_does(mapping: str, saved: str) -> None:
    before = WALK.format(mapping=mapping, tensor="held.cpu()")
    assert "FSDP701" in analyse(main(SHARDED + SAVE.format(saved=saved), before)).codes


@pytest.mark.parametrize("helper", ["flat", "chosen"])
def test_a_state_dict_is_a_dict_and_no_tensor(helper: str) -> None:
    before = WALK.format(mapping="dict", tensor="held")
    assert "FSDP701" not in analyse(main(SHARDED + f"torch.save({helper}(model.state_dict()), 'a.pt')", before)).codes
