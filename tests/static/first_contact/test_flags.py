"""``enum.Flag``: bits that are put together and asked for one by one."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
import argparse
import operator
from enum import Flag, IntFlag, auto

class Kind(Flag):
    DDP = auto()
    FSDP = auto()
    EMA = auto()
    DATA = DDP | FSDP

    @property
    def sharded(self):
        return Kind.FSDP in self

class Number(IntFlag):
    DDP = 1
    FSDP = 1 << 1
    EMA = 4

@dataclass
class Run:
    mode: Kind

def parse(text):
    mode = Kind(0)
    for word in text.split(","):
        mode |= Kind[word.upper()]
    return mode
"""
RUN = """
{made}
model = Net()
if {shards}:
    fully_shard(model)
if {gathers}:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""


def saved(made: str, shards: str, gathers: str) -> bool:
    return "FSDP701" in analyse(main(RUN.format(made=made, shards=shards, gathers=gathers), KINDS)).codes


@pytest.mark.parametrize("made", [
    "mode = parse(sys.argv[1])",
    "mode = Kind[sys.argv[1]] | Kind.EMA",
    "mode = Kind(int(sys.argv[1]))",
    "mode = yaml.safe_load(open('run.yaml'))['mode']",
])  # fmt: skip
@pytest.mark.parametrize("shards, gathers", [
    ("Kind.FSDP in mode", "mode & Kind.FSDP"),
    ("mode & Kind.FSDP", "Kind.FSDP & mode"),
    ("mode & Kind.FSDP", "(mode & Kind.FSDP) == Kind.FSDP"),
    ("Kind.FSDP in mode", "mode & Kind.DATA"),
    ("Kind.DATA in mode", "Kind.FSDP in mode"),
    ("(mode & Kind.DATA) == Kind.DATA", "bool(mode & Kind.FSDP)"),
])  # fmt: skip
def test_one_bit_asked_in_two_ways(made: str, shards: str, gathers: str) -> None:
    assert not saved(made, shards, gathers)
    assert saved(made, shards, "Kind.EMA in mode")


def test_all_bits_are_more_than_some() -> None:
    made = "mode = parse(sys.argv[1])"
    assert saved(made, "mode & Kind.DATA", "Kind.FSDP in mode")
    assert saved(made, "Kind.FSDP in mode", "(mode & Kind.DATA) == Kind.DATA")


@pytest.mark.parametrize("asked, truth", [
    ("Kind.FSDP in Kind.DATA", True),
    ("Kind.EMA in Kind.DATA", False),
    ("Kind.DDP & Kind.DATA", True),
    ("Kind(3) == Kind.DATA", True),
    ("Kind.DDP == 1", False),
    ("Number.FSDP == 2", True),
    ("(Number.DDP | Number.EMA).value == 5", True),
    ("Number.FSDP in [Number.DDP, Number.EMA]", False),
    ("Kind.DDP & Kind.EMA", False),
])  # fmt: skip
def test_members_that_are_known(asked: str, truth: bool) -> None:
    body = f"model = Net()\nfully_shard(model)\nif {asked}:\n    model.forward(torch.zeros(2))\n"
    assert ("FSDP401" in analyse(main(body, KINDS)).codes) is truth


def test_masks_of_plain_numbers() -> None:
    made = "mode = int(sys.argv[1])"
    assert not saved(made, "mode & 2", "(mode & 2) != 0")
    assert not saved(made, "mode & 2 == 2", "2 & mode")
    assert saved(made, "mode & 2", "mode & 4")
