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


# -- what stands in one place on different paths ---------------------------------------------


@pytest.mark.parametrize("test", ['hasattr(inner, "module")', "isinstance(inner, DistributedDataParallel)"])
def test_wrappers_are_taken_off_what_has_them(test: str) -> None:
    body = f"""
model = Net()
if sys.argv[1] == "fsdp2":
    fully_shard(model)
elif sys.argv[1] == "ddp":
    model = DistributedDataParallel(model)
inner = model
while {test}:
    inner = inner.module
print(inner.head)
"""
    assert "FSDP905" not in analyse(main(body)).codes
    assert "FSDP905" in analyse(main(body.replace(f"while {test}:\n    inner", "if True:\n    inner"))).codes


@pytest.mark.parametrize("put", ["self.layers.append(", "setattr(self, 'last', ", "self.add_module('last', "])
def test_what_stands_there_otherwise_holds_no_part_of_it(put: str) -> None:
    """One of two blocks is there; the parts of one are not inside the other."""
    before = f"""
import fnmatch

class Plain(nn.Module):
    def forward(self, x):
        return x

class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x)

class Either(nn.Module):
    def __init__(self, plain):
        super().__init__()
        self.layers = nn.ModuleList()
        if plain:
            {put}Plain())
        else:
            {put}Holds())

    def forward(self, x):
        return self.layers[0](x)

def shard(module, pattern):
    for name, child in list(module.named_children()):
        shard(child, pattern)
        if fnmatch.fnmatch(child.__class__.__name__, pattern):
            fully_shard(child)
"""
    body = "model = Either(len(sys.argv) > 1)\nshard(model, sys.argv[2])\nfully_shard(model)\n"
    assert "FSDP302" not in analyse(main(body, before)).codes


# -- a setting that a file without torch explains --------------------------------------------

POLICY = '''
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """How training is split."""

    stage: int = 0

    @classmethod
    def of(cls, config):
        """Of the settings."""
        return cls(stage=int(config.get("stage", 0)))

    @property
    def some(self):
        """Is anything split?"""
        return self.stage > 0

    @property
    def parameters(self):
        return self.stage >= 2
'''
POLICED = """
import policies

class Trainer:
    def __init__(self, config):
        self.policy = policies.Policy.of(config)
        self.model = Net()
        {checks}
        if self.policy.parameters:
            for layer in self.model.layers:
                fully_shard(layer)
            fully_shard(self.model)

    def save(self):
        if {asks}:
            torch.save(self.model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    "checks, asks, found",
    [
        ("pass", "not self.policy.parameters", False),
        ("pass", "not self.policy.some", False),
        ("if self.policy.some: raise ValueError('one process')", "True", False),
        ("pass", "self.policy.some", True),
        ("pass", "self.policy.parameters", True),
    ],
)
def test_two_answers_of_one_policy(checks: str, asks: str, found: bool) -> None:
    """Its file does not speak of torch, and is followed all the same: the conditions are compared."""
    body = 'trainer = Trainer(yaml.safe_load(open("config.yaml")))\ntrainer.save()\n'
    program = main(body).replace("def main():", POLICED.format(checks=checks, asks=asks) + "\ndef main():")
    codes = analyse({"train.py": program, "policies.py": POLICY}).codes
    assert ("FSDP701" in codes) is found, codes
