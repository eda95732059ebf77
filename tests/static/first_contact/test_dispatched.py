"""``functools.singledispatch``: the class of the first argument says which function runs."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

SHARD = """
import functools

@functools.singledispatch
def shard(model, **options):
    raise NotImplementedError(type(model))

@shard.register{of_blocks}
def {name}(model{annotation}, **options):
    return fully_shard(model, **options)

@shard.register(nn.ModuleList)
def _(model, **options):
    for each in model:
        shard(each, **options)

{more}

@functools.singledispatch
def whole(value):
    return value

@whole.register(torch.Tensor)
def _(value):
    return value.cpu()

@whole.register(DTensor)
def _(value):
    return {gathered}

@whole.register
def _(value: dict):
    return {{name: whole(each) for name, each in value.items()}}
"""
RUN = """
model = Net()
shard(model.layers)
fully_shard(model)
{optimizer}
loss = model(torch.zeros(1, 2, dtype=torch.long)).sum()
loss.backward()
optimizer.step()
state = whole({{"step": 3, "model": model.state_dict()}})
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
RIGHT = RUN.format(optimizer="optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")
WAYS = [("(Block)", ""), ("", ": Block"), ("", ": Block | nn.Linear")]


def shard(way: tuple[str, str] = WAYS[0], gathered: str = "value.full_tensor()", more: str = "") -> str:
    return SHARD.format(of_blocks=way[0], annotation=way[1], name="shard_block", gathered=gathered, more=more)


@pytest.mark.parametrize("way", WAYS)
def test_the_class_chooses(way: tuple[str, str]) -> None:
    seen = analyse(main(RIGHT, shard(way)))
    assert seen.codes == []
    assert seen.verdicts("FSDP302") == {"upheld"}
    assert analyse(main(RIGHT, shard(way, gathered="value"))).codes == ["FSDP701"]


def test_the_parent_before_what_is_dispatched() -> None:
    late = RIGHT.replace("shard(model.layers)\nfully_shard(model)", "fully_shard(model)\nshard(model.layers)")
    assert "FSDP302" in analyse(main(late, shard())).codes


def test_a_class_of_its_own_comes_before_its_base() -> None:
    more = "@shard.register(nn.Module)\ndef _(model, **options):\n    raise TypeError(model)\n"
    assert analyse(main(RIGHT, shard(more=more))).verdicts("FSDP302") == {"upheld"}


def test_a_class_that_is_not_known_proves_nothing() -> None:
    more = "shard.register(unheard.Of, lambda model, **options: model)\n"
    late = RIGHT.replace("shard(model.layers)\nfully_shard(model)", "fully_shard(model)\nshard(model.layers)")
    assert "FSDP302" not in analyse(main(late, "import unheard" + shard(more=more))).codes
