"""What is looked up by a name that a setting completes: ``getattr(self, f"_wrap_{kind}")``, ``globals()[...]``."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

SHARDERS = """
import argparse

def shard_blocks(m):
    for layer in m.layers:
        fully_shard(layer)
    return fully_shard(m)

def shard_none(m):
    return m

TABLE = {}

def listed(name):
    def put(func):
        TABLE[name] = func
        return func
    return put

@listed("blocks")
def listed_blocks(m):
    return shard_blocks(m)

@listed("none")
def listed_none(m):
    return m

STEPS = []

def step(func):
    STEPS.append(func)
    return func

@step
def seed(m):
    torch.manual_seed(0)

@step
def sharded(m):
    shard_blocks(m)

def run_steps(m):
    for each in STEPS:
        each(m)
    return m

class Wrapper:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, m):
        return getattr(self, f"_wrap_{self.kind}")(m)

    def checked(self, m):
        func = getattr(self, "_wrap_" + self.kind, None)
        if func is None:
            raise ValueError(self.kind)
        return func(m)

    def _wrap_blocks(self, m):
        for layer in m.layers:
            fully_shard(layer)
        return fully_shard(m)

    def _wrap_none(self, m):
        return m

parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="blocks")
parser.add_argument("--few", choices=["blocks", "none"], default="blocks")
args = parser.parse_args()
"""
LOOK_UPS = [
    'globals()["shard_" + args.kind]',
    'globals()[f"shard_{args.few}"]',
    'getattr(sys.modules[__name__], f"shard_{args.kind}")',
    "Wrapper(args.kind)",
    "Wrapper(args.few)",
    "Wrapper(args.kind).checked",
    'Wrapper("blocks" if args.few == "blocks" else "none")',
    "TABLE[args.kind]",
]
RUN = """
model = Net()
{before}
model = {shard}(model)
{after}
loss = model(torch.zeros(1, 2, dtype=torch.long)).sum()
loss.backward()
optimizer.step()
state = model.state_dict()
if {gathers}:
    state = {{name: value.full_tensor() for name, value in state.items()}}
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"


@pytest.mark.parametrize("shard", LOOK_UPS)
def test_an_optimizer_before_what_the_name_chooses(shard: str) -> None:
    late = RUN.format(before=OPTIMIZER, shard=shard, after="", gathers="True")
    assert "FSDP601" in analyse(main(late, SHARDERS)).codes
    early = RUN.format(before="", shard=shard, after=OPTIMIZER, gathers="True")
    assert "FSDP601" not in analyse(main(early, SHARDERS)).codes


@pytest.mark.parametrize("shard", LOOK_UPS)
def test_the_setting_says_what_was_chosen(shard: str) -> None:
    kind = "args.few" if "few" in shard else "args.kind"
    right = RUN.format(before="", shard=shard, after=OPTIMIZER, gathers=f'{kind} == "blocks"')
    assert "FSDP701" not in analyse(main(right, SHARDERS)).codes
    wrong = RUN.format(before="", shard=shard, after=OPTIMIZER, gathers=f'{kind} == "none"')
    assert "FSDP701" in analyse(main(wrong, SHARDERS)).codes


def test_steps_that_a_decorator_lists() -> None:
    late = RUN.format(before=OPTIMIZER, shard="run_steps", after="", gathers="True")
    assert "FSDP601" in analyse(main(late, SHARDERS)).codes
    early = RUN.format(before="", shard="run_steps", after=OPTIMIZER, gathers="True")
    assert analyse(main(early, SHARDERS)).codes == []


STARS = """
from torch.distributed.tensor.parallel import *
from torch.distributed.fsdp import *
from torch.optim import *
"""


def test_several_stars_of_torch() -> None:
    late = RUN.format(
        before="optimizer = SGD(model.parameters(), lr=0.1)", shard="fully_shard", after="", gathers="True"
    )
    program = (
        main(late)
        .replace("from torch.distributed.fsdp import fully_shard\n", "")
        .replace("import FSDPModule", "import *")
    )
    assert "FSDP601" in analyse(STARS + program).codes
    assert "FSDP601" not in analyse(STARS + program.replace("model = fully_shard(model)", "")).codes


def test_a_name_that_may_be_any_proves_nothing() -> None:
    unseen = RUN.format(before=OPTIMIZER, shard="getattr(args, args.kind)", after="", gathers="True")
    assert not analyse(main(unseen, SHARDERS)).codes


def test_a_table_of_names_that_the_file_fills_itself() -> None:
    filled = 'for name in open("names.txt"):\n    globals()[f"shard_{name}"] = shard_none\n'
    again = RUN.format(before="", shard='globals()[f"shard_{args.kind}"]', after=OPTIMIZER, gathers="False")
    assert "FSDP701" in analyse(main(again, SHARDERS)).codes
    assert "FSDP501" not in analyse(main(again, SHARDERS + filled)).codes


BASE = """
class Wraps:
    def __init__(self, kind):
        self.kind = kind

    def ready(self, m):
        return getattr(self, f"_wrap_{self.kind}")(m)
"""
HEIR = """
from torch.distributed.fsdp import fully_shard
from base import Wraps

class Wrapper(Wraps):
    def _wrap_blocks(self, m):
        for layer in m.layers:
            fully_shard(layer)
        return fully_shard(m)
"""


def test_the_base_class_asks_for_what_another_file_defines() -> None:
    late = RUN.format(before=OPTIMIZER, shard="Wrapper('blocks').ready", after="", gathers="True")
    early = RUN.format(before="", shard="Wrapper('blocks').ready", after=OPTIMIZER, gathers="True")
    for body, found in ((late, ["FSDP601"]), (early, [])):
        train = main(body, "from heir import Wrapper\n").replace("from torch.distributed.fsdp import fully_shard\n", "")
        assert analyse({"train.py": train, "base.py": BASE, "heir.py": HEIR}).codes == found
