"""Blocks that a loop puts back where they were, and optimizers whose state comes with the key that holds it."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

BLOCKS = """
import argparse

class Block(nn.Module):
    def __init__(self, dense):
        super().__init__()
        self.dense = dense
        self.experts = nn.ModuleList([nn.Linear(8, 8)])

class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.layers = nn.ModuleDict()
        for number in range(args.layers):
            self.layers[str(number)] = Block(number < args.dense)

def sharded(model, experts_first=True):
    for name, block in model.layers.items():
        if experts_first and not block.dense:
            fully_shard(block.experts)
        fully_shard(block)
        if not experts_first:
            fully_shard(block.experts)
    fully_shard(model)
"""
BACK = (
    "",
    "for name, block in model.layers.items(): model.layers[name] = block",
    "for name in list(model.layers): model.layers[name] = model.layers[name]",
    "for number, block in enumerate(model.layers.values()): model.layers[str(number)] = block",
)
BUILT = "args = argparse.ArgumentParser().parse_args()\nmodel = Model(args)\n"


@pytest.mark.parametrize("back", BACK)
def test_what_is_put_back_is_no_further_block(back: str) -> None:
    assert "FSDP302" not in analyse(main(f"{BUILT}{back}\nsharded(model)", BLOCKS)).codes
    assert "FSDP302" in analyse(main(f"{BUILT}{back}\nsharded(model, False)", BLOCKS)).codes


LOADS = """
import argparse
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, get_state_dict

def load(model, optimizer, wanted):
    payload = {{"model": get_model_state_dict(model)}}
    if wanted:
        payload["optimizer"] = {state}
    dcp.load(payload, checkpoint_id="x")

class App:
    def __init__(self, model, optimizer, bare):
        self.model, self.optimizer, self.bare = model, optimizer, bare

    def state_dict(self):
        held, own = get_state_dict(self.model, self.optimizer)
        return {{"model": held}} if self.bare else {{"model": held, "optimizer": own}}
"""
MADE = "args = argparse.ArgumentParser().parse_args()\noptimizer = torch.optim.AdamW(model.parameters())\n"


@pytest.mark.parametrize(
    "call", ["load(model, optimizer, args.whole)", "dcp.load(App(model, optimizer, args.bare).state_dict())"]
)
def test_the_helper_that_fills_the_key_makes_the_state(call: str) -> None:
    before = LOADS.format(state="get_optimizer_state_dict(model, optimizer)")
    assert "FSDP703" not in analyse(main(SHARDED + MADE + call, before)).codes


def test_a_plain_state_dict_does_not() -> None:
    before = LOADS.format(state="optimizer.state_dict()")
    assert "FSDP703" in analyse(main(SHARDED + MADE + "load(model, optimizer, args.whole)", before)).codes
