"""What may be sharded already, and what may be an optimizer."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

# -- a model that several ways may have sharded before -------------------------------------

CHOICES = """
args = argparse.ArgumentParser()
for name in "abcdefgh":
    args.add_argument("--" + name, action="store_true")
args = args.parse_args()
"""
WAYS = (
    CHOICES
    + """
model = Net() if args.a else Other()
if args.c and (args.d or args.e and args.f) and (args.g or args.h and args.a or not args.e):
    model = prepared(model)
if args.d and (args.c or args.e and args.f) and (args.h or args.g and args.a or not args.b):
    model = prepared(model)
if args.f and (args.c or args.e and args.d) and (args.a or args.h and args.g or not args.c):
    model = prepared(model)
model = prepared(model)
"""
)
BEFORE = """
import argparse

class Other(Net):
    pass

def prepared(model):
    {asks}
    {inner}
    fully_shard(model)
    return model
"""
ASKS = (
    "if isinstance(model, FSDPModule): return model",
    "if model is None or isinstance(model, FSDPModule): return model",
    "sharded = isinstance(model, FSDPModule)\n    if sharded: return model",
)
INNER = "for layer in model.layers: fully_shard(layer)"


@pytest.mark.parametrize("inner", ["", INNER])
@pytest.mark.parametrize("asks", ASKS)
def test_who_asks_first_shards_nothing_twice(asks: str, inner: str) -> None:
    """The answer depends on more settings than are kept, so it is open, and so is what happens behind it."""
    assert not {"FSDP302", "FSDP305"}.intersection(analyse(main(WAYS, BEFORE.format(asks=asks, inner=inner))).codes)


def test_who_does_not_ask_shards_twice() -> None:
    body = CHOICES + "model = Net()\nif args.c and (args.d or args.e):\n    prepared(model)\nprepared(model)\n"
    for asks in ("", "if not isinstance(model, nn.Module): return model"):
        assert "FSDP305" in analyse(main(body, BEFORE.format(asks=asks, inner=""))).codes


# -- what takes parameters, and is no optimizer ---------------------------------------------

AFTER_FORWARD = (
    SHARDED
    + """
optimizer = torch.optim.AdamW(model.parameters())
with torch.no_grad():
    model(torch.zeros(2, 8))
"""
)
READERS = (
    "names = {id(parameter): name for name, parameter in model.named_parameters()}",
    "kinds = [type(parameter) for parameter in model.parameters()]",
    "copies = copy.copy(list(model.parameters()))",
    "listed = catalog.listed(model.parameters())",
    "groups.sort_out([parameter for parameter in model.parameters()])",
)


@pytest.mark.parametrize("reads", READERS)
def test_a_look_at_parameters_builds_no_optimizer(reads: str) -> None:
    imports = "import copy\nimport catalog\ngroups = catalog.Groups()\n"
    assert "FSDP602" not in analyse(main(AFTER_FORWARD + reads, imports)).codes


@pytest.mark.parametrize("builds", ["torch.optim.AdamW(model.parameters())", "catalog.Sorted(model.parameters())"])
def test_what_steps_is_one(builds: str) -> None:
    body = f"{AFTER_FORWARD}optimizer = {builds}\nmodel(torch.zeros(2, 8)).sum().backward()\noptimizer.step()\n"
    assert "FSDP602" in analyse(main(body, "import catalog")).codes
