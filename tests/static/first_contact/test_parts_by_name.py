"""Two parts of one model whose names nobody knows: neither is surely a part of the other."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

WRAPPERS = """
TOWERS = {"one": "model.visual", "two": "model.vision_tower"}

class Adapter(nn.Module):
    def __init__(self, base_layer):
        super().__init__()
        self.base_layer = base_layer
        self.down = nn.Linear(8, 8)

    def forward(self, x):
        return self.base_layer(x) + self.down(x)

def walk(part, path):
    for name in path.split("."):
        part = getattr(part, name)
    return part
"""


def late(parts: str) -> bool:
    body = f"""
settings = yaml.safe_load(open("settings.yaml"))
model = AutoModelForCausalLM.from_pretrained("path")
{parts}
fully_shard(vision)
for block in text.layers:
    fully_shard(block)
fully_shard(model)
"""
    return "FSDP302" in analyse(main(body, WRAPPERS)).codes


NAMED = "vision = getattr(model, settings.vision)\ntext = getattr(model, settings.text)"


@pytest.mark.parametrize(
    "wrapped",
    [
        "",
        "adapter = Adapter(getattr(model, settings.adapted))",
        "setattr(model, settings.adapted, Adapter(getattr(model, settings.adapted)))",
        "held = nn.ModuleList([getattr(model, settings.adapted)])",
    ],
)
def test_a_part_by_name_that_a_wrapper_holds_stays_any_part(wrapped: str) -> None:
    assert not late(f"{wrapped}\n{NAMED}")


def test_a_layer_by_number_likewise() -> None:
    assert not late("""
adapter = Adapter(model.layers[settings.adapted])
vision, text = model.layers[settings.vision], model.layers[settings.text]
""")


def test_a_part_that_is_known_stays_known_in_its_wrapper() -> None:
    assert late("adapter = Adapter(model.text)\nvision = text = model.text")
    assert late("adapter = Adapter(getattr(model, settings.adapted))\nvision = adapter\ntext = adapter.base_layer")


def test_a_path_out_of_a_table_leads_somewhere() -> None:
    assert not late("vision = walk(model, TOWERS[settings.tower])\ntext = model.model.language_model")
    assert late('vision = walk(model, "model")\ntext = model.model.language_model')
