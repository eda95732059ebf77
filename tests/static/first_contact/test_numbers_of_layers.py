"""Sizes read off a layer and calculated with: what the number meets has nothing of the model in hand."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SHAPES = (
    "if isinstance(part, nn.Linear) and getattr(part, 'out_features', 0) % ways != 0:\n        odd.append(name)",
    "if isinstance(part, nn.Linear):\n        odd.append(int(ways) * part.in_features)",
    "if not isinstance(part, (nn.Embedding,)):\n        continue\n    odd.append(part.embedding_dim / ways)",
)
IN_HAND = (
    "odd.append(part % ways)",
    "if isinstance(part, nn.Linear):\n        odd.append(part % ways)",
    "if isinstance(part, nn.Module):\n        odd.append(part.out_features % ways)",
)
BODY = """
model = Net()
ways = plans.read()["ways"]
odd = []
for name, part in model.named_modules():
    {}
for layer in model.layers:
    fully_shard(layer)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


def codes(use: str) -> list[str]:
    return analyse(script(BODY.format(use), "import plans\n")).codes


@pytest.mark.parametrize("use", SHAPES)
def test_what_it_meets_changes_no_model(use: str) -> None:
    assert "FSDP303" in codes(use)


@pytest.mark.parametrize("use", IN_HAND)
def test_what_meets_a_part_itself_may_have_sharded_it(use: str) -> None:
    assert codes(use) == []
