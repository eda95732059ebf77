"""A model that is frozen for LoRA alone, and sharded where there is no LoRA, is trained there."""

from __future__ import annotations

from tests.static.first_contact.programs import main
from tests.static.program import analyse

RUN = """
model = Net()
{freeze}
{sharding}
optimizer = build(model)
model(torch.zeros(2, 3, dtype=torch.long)).sum().backward()
optimizer.step()
"""
SHARDS = "if not {lora}:\n    fully_shard(model)"
FREEZES = "if {lora}:\n    model.requires_grad_(False)"
LORA = 'os.environ.get("LORA")'


def codes(freeze: str, sharding: str) -> list[str]:
    text = RUN.replace("{freeze}", freeze).replace("{sharding}", sharding).replace("{lora}", LORA)
    return analyse(main(text, "from elsewhere import build\n")).codes


def test_what_is_frozen_elsewhere_is_trained_here() -> None:
    assert "FSDP301" in codes(FREEZES, SHARDS)
    assert "FSDP301" not in codes(FREEZES, SHARDS.replace("not ", ""))
    assert "FSDP301" not in codes("model.requires_grad_(False)", SHARDS)
