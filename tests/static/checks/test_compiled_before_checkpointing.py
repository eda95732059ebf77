"""The order of compilation and activation checkpointing, before anything is sharded."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

IMPORTS = """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing, checkpoint_wrapper
)
"""
MAIN = """
dist.init_process_group("gloo")
model = Net()
{before}
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
"""
EACH = "for i, layer in enumerate(model.layers):\n    {}\n"
WRAP = EACH.format("model.layers[i] = checkpoint_wrapper(layer)")
WRONG = {
    "in place": EACH.format("layer.compile(dynamic=False)") + WRAP,
    "by torch.compile": EACH.format("model.layers[i] = checkpoint_wrapper(torch.compile(layer))"),
    "as children": EACH.format("layer.compile()")
    + "for name, layer in model.layers.named_children():\n"
    + "    model.layers.register_module(name, checkpoint_wrapper(layer))\n",
    "by a filter": EACH.format("layer.compile()")
    + "apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Block))\n",
}
RIGHT = {
    "checkpoints first": WRAP + EACH.format("layer.compile()"),
    "around the wrapped block": EACH.format("model.layers[i] = torch.compile(checkpoint_wrapper(layer))"),
    "a part of the block": EACH.format("layer.up.compile()") + WRAP,
    "the whole model": "model.compile()\n" + WRAP,
    "one or the other": "import sys\n"
    + f"if sys.argv[1]:\n    {EACH.format('    layer.compile()')}else:\n    "
    + WRAP.replace("\n    ", "\n        "),
    "functions": "loss = torch.compile(torch.nn.functional.cross_entropy)\n" + WRAP,
}


def codes(before: str) -> list[str]:
    return [code for code in analyse(script(MAIN.format(before=before), IMPORTS)).codes if code == "FSDP309"]


@pytest.mark.parametrize("name", WRONG)
def test_checkpointed_around_what_is_compiled(name: str) -> None:
    assert codes(WRONG[name]) == ["FSDP309"]


@pytest.mark.parametrize("name", RIGHT)
def test_not_checkpointed_around_what_is_compiled(name: str) -> None:
    assert codes(RIGHT[name]) == []
