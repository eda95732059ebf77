"""``isinstance(m, FSDPModule)`` asks about this module, whatever is around it or in it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORT = "from torch.distributed.fsdp import FSDPModule\n"
ONCE = f"""{IMPORT}
def shard_once(module):
    if isinstance(module, FSDPModule):
        return module
    return fully_shard(module)
"""
PARTS_ASKED = """
for layer in model.layers:
    if isinstance(layer, FSDPModule):
        continue
    fully_shard(layer)
"""
PARTS_BY_HELPER = """
for layer in model.layers:
    shard_once(layer)
"""
PARTS_CHOSEN = """
for layer in [each for each in model.layers if not isinstance(each, FSDPModule)]:
    fully_shard(layer)
"""
SHAPES = [PARTS_ASKED, PARTS_BY_HELPER, PARTS_CHOSEN]


TRAINED = """
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randint(100, (4, 16), device="cuda")).sum().backward()
optimizer.step()
"""


def sharding(*steps: str) -> list[str]:
    return analyse(script("\n".join(["model = Net()", *steps, TRAINED]), ONCE)).codes


@pytest.mark.parametrize("parts", SHAPES)
def test_parts_of_what_is_sharded_are_not_sharded_by_that(parts: str) -> None:
    assert "FSDP302" in sharding("fully_shard(model)", parts)


@pytest.mark.parametrize("parts", SHAPES)
def test_what_has_sharded_parts_is_not_sharded_by_them(parts: str) -> None:
    assert "FSDP303" in sharding(parts, "if isinstance(model, FSDPModule):\n    fully_shard(model)")
    assert "FSDP303" not in sharding(parts, "if not isinstance(model, FSDPModule):\n    fully_shard(model)")


@pytest.mark.parametrize("parts", SHAPES)
def test_what_is_sharded_once_is_found_sharded_the_second_time(parts: str) -> None:
    once = [parts, "shard_once(model)"]
    assert not {"FSDP302", "FSDP305"} & {*sharding(*once, *once)}
