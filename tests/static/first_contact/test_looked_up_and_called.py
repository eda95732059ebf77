"""A method that is looked up first and called later does what it does when it is called at once."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

PROGRAM = """
def ends(model):
    out = getattr(model, "get_output_embeddings", None)
    if out is None:
        return []
    embedded, head = model.get_input_embeddings(), LOOKED_UP
    return [] if head is None or head.weight is embedded.weight else [embedded, head]


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
for layer in model.model.layers:
    fully_shard(layer)
for part in ends(model):
    fully_shard(part)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize("call", ["out()", "model.get_output_embeddings()", "model.lm_head"])
def test_the_ends_of_a_model_are_no_models(call: str) -> None:
    found = analyse(
        script(PROGRAM.replace("LOOKED_UP", call), "from transformers import AutoConfig, AutoModelForCausalLM")
    )
    assert "FSDP301" not in found.codes


def test_a_model_of_a_library_as_one_group() -> None:
    alone = PROGRAM.replace("for layer in model.model.layers:\n    fully_shard(layer)\n", "")
    alone = alone.replace("for part in ends(model):\n    fully_shard(part)\n", "")
    assert "FSDP301" in analyse(script(alone, "from transformers import AutoConfig, AutoModelForCausalLM")).codes
