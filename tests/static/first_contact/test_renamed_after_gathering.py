"""A dict that is gathered tensor by tensor, and whose entries are renamed on paths of their own afterwards."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

BEFORE = """
def gather(model):
    held = {{}}
    for key, value in model.state_dict().items():
        {gathers}
        held[key.replace("module", "")] = value.cpu()
    return held

def rename(held, layers):
    for i in range(layers):
        if f"{{i}}.w1" in held:
            {renames}
"""
# Two models, so that what an entry holds hangs on a condition, and each renaming adds a condition to that.
MODELS = """
if os.environ.get("META"):
    model = AutoModelForCausalLM.from_config(AutoModel.settings("llama"))
else:
    model = AutoModelForCausalLM.from_pretrained("llama")
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
held = gather(model)
rename(held, int(os.environ["LAYERS"]))
torch.save(held, f"model-{dist.get_rank()}.pt")
"""
ASKED = "if isinstance(value, DTensor):\n            value = value.full_tensor()"


def codes(gathers: str, renamed: int) -> list[str]:
    renames = "\n            ".join(f'held[f"{{i}}.to{n}"] = held[f"{{i}}.from{n}"]' for n in range(renamed))
    before = BEFORE.replace("{gathers}", gathers).replace("{{", "{").replace("}}", "}").replace("{renames}", renames)
    return analyse(main(MODELS, before)).codes


@pytest.mark.parametrize("renamed", [1, 2, 3, 5, 8])
def test_what_was_gathered_stays_gathered(renamed: int) -> None:
    assert "FSDP701" not in codes(ASKED, renamed)


@pytest.mark.parametrize("renamed", [1, 2, 3, 5, 8])
def test_what_was_not_does_not(renamed: int) -> None:
    assert "FSDP701" in codes("value = value.to(torch.bfloat16)", renamed)
    assert "FSDP701" in codes("if isinstance(value, DTensor):\n            value = value.to(torch.bfloat16)", renamed)
