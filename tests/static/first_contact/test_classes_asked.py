"""``isinstance`` asks of each class on the path on which it is asked; ``next`` takes the first that is there."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

FILTERED = """
model = Net()
{asked}
for module in model.modules():
    if isinstance(module, wanted):
        fully_shard(module)
fully_shard(model)
"""


@pytest.mark.parametrize(
    "asked",
    [
        'wanted = (Block,) if os.environ.get("BIG") else (nn.Linear,)',
        'wanted = Block if os.environ["KIND"] == "block" else nn.Embedding',
        'names = yaml.safe_load(open("a"))["names"]\n'
        "wanted = tuple({type(m) for m in model.modules() if type(m).__name__ in names})",
        'wanted = (Block,)\nif os.environ.get("BIG"):\n    wanted += (nn.Embedding,)',
    ],
)  # fmt: skip
def test_classes_that_a_setting_chooses(asked: str) -> None:
    assert analyse(main(FILTERED.format(asked=asked))).codes == []


@pytest.mark.parametrize(
    "asked",
    ["wanted = (Block, Net)", 'wanted = (Block, Net) if os.environ.get("BIG") else (Block, Net, nn.Linear)'],
)
def test_the_model_itself_is_among_them(asked: str) -> None:
    assert "FSDP302" in analyse(main(FILTERED.format(asked=asked))).codes


FIRST = """
model = Net()
layers = next({found})
for layer in layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
"""


def test_the_first_part_that_is_a_list() -> None:
    lists = "part for part in model.children() if isinstance(part, nn.ModuleList)"
    assert not {"FSDP301", "FSDP302", "FSDP305"} & {*analyse(main(FIRST.format(found=lists))).codes}


def test_the_default_is_taken_where_nothing_is_there() -> None:
    body = """
model = Net()
wrap = next((f for f in (fully_shard,) if os.environ.get("SHARD")), None)
if wrap is None:
    model = DistributedDataParallel(model)
else:
    for layer in model.layers:
        wrap(layer)
    wrap(model)
"""
    assert analyse(main(body)).codes == []
    both = body.replace("if wrap is None:", "if wrap is not None:\n    wrap(model)")
    assert "FSDP310" in analyse(main(both)).codes
