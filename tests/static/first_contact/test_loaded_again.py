"""A lenient load of what the model has already: nothing is lost by a name that does not fit."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

ROUND = """
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randint(0, 100, (4, 16), device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
OWN = [
    "{f'{name}.weight': part.weight for name, part in model.named_modules() if hasattr(part, 'weight')}",
    "{name: each for name, each in model.named_parameters() if 'up' in name}",
    "{f'layers.{number}.up.weight': layer.up.weight for number, layer in enumerate(model.layers)}",
]
OTHERS = [
    "other.state_dict()",
    "{name: each for name, each in other.state_dict().items() if 'up' in name}",
    "{name: each for name, each in other.named_parameters()}",
    "{f'layers.{number}.up.weight': layer.up.weight for number, layer in enumerate(other.layers)}",
]


@pytest.mark.parametrize("state", OWN)
def test_what_the_model_has_already(state: str) -> None:
    assert "FSDP703" not in analyse(main(SHARDED + f"model.load_state_dict({state}, strict=False)\n" + ROUND)).codes


@pytest.mark.parametrize("state", OTHERS)
def test_what_another_model_has(state: str) -> None:
    body = SHARDED + SHARDED.replace("model", "other") + f"model.load_state_dict({state}, strict=False)\n" + ROUND
    assert "FSDP703" in analyse(main(body)).codes
