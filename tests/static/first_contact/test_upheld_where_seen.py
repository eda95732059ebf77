"""Upheld is said where it was seen, and one setting is one however it is asked."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import LAYERS, main
from tests.static.program import HEAD, NET, analyse

# -- upheld only where it was seen ---------------------------------------------------------

OF_LIBRARIES = """
class Both(nn.Module):
    def __init__(self, towers, trunk):
        super().__init__()
        for name, tower in towers.items():
            self.add_module(name, tower)
        self.trunk = trunk

    def forward(self, x):
        return self.trunk(x)
"""
HOLLOW = """
with torch.device("meta"):
    trunk = AutoModelForCausalLM.from_config(yaml.safe_load(open("config.yaml")))
    model = Both({}, trunk)
for layer in model.trunk.layers:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
FILL
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 8, device="cuda")).sum().backward()
optimizer.step()
"""


def test_parts_of_a_library_have_parameters() -> None:
    assert "FSDP201" in analyse(main(HOLLOW.replace("FILL", ""), OF_LIBRARIES)).codes
    towers = HOLLOW.replace("Both({}, trunk)", 'Both({"vision": AutoModel.from_config({})}, trunk)').replace("FILL", "")
    assert "FSDP201" in analyse(main(towers, OF_LIBRARIES)).codes
    filled = HOLLOW.replace("FILL", "model.load_state_dict(torch.load('weights.pt'))")
    assert "FSDP201" not in analyse(main(filled, OF_LIBRARIES)).codes


def test_a_derived_layer_has_parameters() -> None:
    body = HOLLOW.replace(
        'trunk = AutoModelForCausalLM.from_config(yaml.safe_load(open("config.yaml")))', "trunk = Local(8, 8)"
    )
    body = body.replace("for layer in model.trunk.layers:\n    fully_shard(layer)\n", "").replace("FILL", "")
    assert "FSDP201" in analyse(main(body, OF_LIBRARIES + LAYERS)).codes


def test_quantized_weights_carry_what_is_not_seen() -> None:
    body = """
model = AutoModelForCausalLM.from_pretrained("a/model", quantization_config=CONFIG)
for tensor in model.parameters():
    tensor.requires_grad_(False)
    tensor.scale = 1.0
for layer in model.model.layers:
    fully_shard(layer)
fully_shard(model)
"""
    for given in ("BitsAndBytesConfig(load_in_4bit=True)", "BitsAndBytesConfig() if sys.argv[1:] else None"):
        assert analyse(main(body.replace("CONFIG", given))).verdicts("FSDP317") == {"unknown"}
    assert analyse(main(body.replace("CONFIG", "None"))).verdicts("FSDP317") == {"upheld"}


def test_no_optimizer_is_none_that_was_judged() -> None:
    wrapper = """
    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module
            self.kept = {name: vars(tensor) for name, tensor in module.named_parameters()}
            for part in module.layers:
                fully_shard(part)
            fully_shard(module)
    """
    assert analyse(main("Wrapper(Net())", wrapper)).verdicts("FSDP601") <= {"unknown"}


# -- the same filter twice -----------------------------------------------------------------

FILTERED = """
model = LlamaForCausalLM.from_pretrained("a/model")
for module in model.modules():
    if isinstance(module, LlamaDecoderLayer):
        fully_shard(module)
fully_shard(model)
apply_activation_checkpointing(model, check_fn=CHECK)
"""


@pytest.mark.parametrize("check", ["lambda part: isinstance(part, LlamaDecoderLayer)", "is_block"])
def test_checkpointing_by_the_filter_of_the_sharding(check: str) -> None:
    named = "def is_block(part):\n    return isinstance(part, LlamaDecoderLayer)\n"
    assert analyse(main(FILTERED.replace("CHECK", check), named)).codes == ["FSDP309"]


def test_checkpointing_by_another_filter() -> None:
    other = FILTERED.replace("CHECK", "lambda part: isinstance(part, nn.Linear)")
    assert analyse(main(other)).codes == []


# -- one setting, asked as an attribute and by get()


@pytest.mark.parametrize("asked", ["cfg.strategy.get('name') == '3d'", "cfg.get('strategy').name == '3d'"])
def test_a_setting_asked_in_two_ways_is_one(asked: str) -> None:
    """The helper shards for one strategy only, and its caller comes to it for another one."""
    helper = f"def prepare(model, cfg):\n    if {asked}:\n        fully_shard(model)\n    return model\n"
    main = (
        "def main(cfg):\n    model = Net()\n    if cfg.strategy.name == 'fsdp':\n        model = prepare(model, cfg)\n"
    )
    main += "        model.forward(torch.ones(2, 8, dtype=torch.long))\n"
    assert analyse(HEAD + NET + helper + main).codes == []
    found = analyse(HEAD + NET + helper + main.replace("'fsdp'", "'3d'")).codes
    assert "FSDP401" in found, "where the strategies agree, it is the fault that it was"
