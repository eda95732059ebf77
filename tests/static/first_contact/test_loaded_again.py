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


ONE_OF = """
kind = sys.argv[1]
model = Net() if kind == "a" else Other() if kind == "b" else third(kind)
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
state = get_model_state_dict({of})
dcp.load(state, checkpoint_id="saved")
set_model_state_dict(model, state, options=StateDictOptions(strict=False))
"""
KINDS = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import set_model_state_dict
from zoo import third


class Other(Net):
    pass
"""


def test_the_names_of_one_of_several_models() -> None:
    assert "FSDP703" not in analyse(main(ONE_OF.format(of="model") + ROUND, KINDS)).codes
    body = SHARDED.replace("model", "before") + ONE_OF.format(of="before") + ROUND
    assert "FSDP703" in analyse(main(body, KINDS)).codes


@pytest.mark.parametrize("state", ["state = {}\nzoo.fill(state, model)", "state = dict()\nzoo.Filler(state).run()"])
def test_names_of_a_dict_that_unseen_code_fills(state: str) -> None:
    body = f"{SHARDED}\n{state}\nmodel.load_state_dict(state, strict=False)\n{ROUND}"
    assert "FSDP703" not in analyse(main(body, "import zoo")).codes
