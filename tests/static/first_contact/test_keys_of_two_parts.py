"""Tables by several names at once: ``TOWERS[kind, name]``, where a setting says one of them."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

TABLE = """
TOWERS = {}

def tower(kind, name, **sizes):
    def register(cls):
        TOWERS[kind, name] = (cls, sizes)
        return cls
    return register

def build(kind, name, **more):
    cls, sizes = TOWERS[kind, name]
    return cls(**{**sizes, **more})

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)

@tower("image", "small", width=64)
@tower("image", "large", width=128)
class Image(nn.Module):
    def __init__(self, width, depth=8):
        super().__init__()
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
        self.last = nn.Linear(width, width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.last(x)

@tower("text", "small")
class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Layer(8) for _ in range(4)])
"""
SHARDED = """
model = {model}
for layer in model.layers:
    fully_shard(layer)
model(torch.ones(2, 64)).sum().backward()
"""


@pytest.mark.parametrize(
    "model",
    [
        'build("image", "small")',
        'build("image", os.environ["SIZE"])',
        'build("image", os.environ["SIZE"], depth=4)',
        'TOWERS["image", os.environ["SIZE"]][0](64)',
        'TOWERS.get(("image", os.environ["SIZE"]))[0](64)',
    ],
)
def test_those_of_the_kind_that_is_asked_for(model: str) -> None:
    found = analyse(main(SHARDED.format(model=model), TABLE))
    assert "FSDP303" in found.codes and found.verdicts("FSDP302") == {"upheld"}


def test_all_of_them_where_nothing_is_known() -> None:
    found = analyse(main(SHARDED.format(model='build(os.environ["KIND"], os.environ["SIZE"])'), TABLE))
    assert "upheld" not in found.verdicts("FSDP303")


def test_two_questions_of_one_setting_get_one_answer() -> None:
    """What one row says of both is kept together: the model of ``small`` is sharded, that of ``large`` is not."""
    rows = """
ROWS = {("make", "small"): Image, ("shard", "small"): True, ("shard", "large"): False}
size = os.environ["SIZE"]
model = Image(64)
if ROWS["shard", size]:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
if not ROWS["shard", size]:
    fully_shard(model)
model(torch.ones(2, 64)).sum().backward()
optimizer.step()
"""
    found = analyse(main(rows, TABLE))
    assert "FSDP601" in found.codes and found.verdicts("FSDP305") == {"upheld"}
    other = analyse(main(rows.replace('not ROWS["shard", size]', 'not ROWS["shard", os.environ["OTHER"]]'), TABLE))
    assert other.verdicts("FSDP305") != {"upheld"}


def test_a_key_of_no_parts() -> None:
    assert "FSDP303" in analyse(main(SHARDED.format(model="{(): Image}[()](64)"), TABLE)).codes
