"""Settings that are one of a few constants: choices of a parser, ``Literal``, members of enumerations."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
import argparse
import tyro
from enum import Enum, IntEnum
from typing import Literal, Optional
from pydantic import BaseModel

Mode = Literal["none", "ddp", "fsdp"]

class Kind(Enum):
    NONE = "none"
    DDP = "ddp"
    FSDP = "fsdp"

    @property
    def sharded(self):
        return self is Kind.FSDP

class Level(IntEnum):
    NONE = 0
    DDP = 1
    FSDP = 2

@dataclass
class Words:
    kind: Literal["none", "ddp", "fsdp"] = "fsdp"

@dataclass
class Named:
    kind: Mode
    steps: int = 1

@dataclass
class Perhaps:
    kind: Optional[Kind] = None

@dataclass
class Members:
    kind: Kind = Kind.DDP

class Checked(BaseModel):
    kind: Literal["none"] | Literal["ddp", "fsdp"] = "none"

@dataclass
class Plain:
    kind: str = "none"
    steps: int = 1

parser = argparse.ArgumentParser()
"""
RUN = """
{made}
model = Net()
if kind {op} {none}:
    model = model.cuda()
elif kind {op} {ddp}:
    model = DistributedDataParallel(model.cuda())
else:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
if {gathers}:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
else:
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
"""
WORDS = [
    'parser.add_argument("--kind", choices=["none", "ddp", "fsdp"], default="ddp"); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", choices=("none", "ddp", "fsdp"), required=True); kind = parser.parse_args().kind',
    'parser.add_argument("kind", choices=["none", "ddp", "fsdp"]); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", choices=["none", "ddp", "fsdp"], default="ddp")\n'
    "kind = Plain(**vars(parser.parse_args())).kind",
    "kind = tyro.cli(Words).kind",
    'kind = Words(**yaml.safe_load(open("settings.yaml"))).kind',
    "kind = tyro.cli(Named).kind",
    'kind = Checked.model_validate_json(os.environ["SETTINGS"]).kind',
]
MEMBERS = [
    'parser.add_argument("--kind", type=Kind, choices=list(Kind), default=Kind.FSDP); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", type=Kind, default="fsdp"); kind = parser.parse_args().kind',
    "kind = tyro.cli(Members).kind",
    "kind = Kind(sys.argv[1])",
    "kind = Kind[sys.argv[1]]",
]
OPEN = [
    'parser.add_argument("--kind", choices=["none", "ddp", "fsdp"]); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", default="ddp"); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", choices=["none", "ddp", "fsdp"], default="ddp")\n'
    'parser.set_defaults(**yaml.safe_load(open("settings.yaml"))); kind = parser.parse_args().kind',
    'parser.add_argument("--kind", choices=["none", "ddp", "fsdp", "hsdp"], default="ddp")\n'
    "kind = parser.parse_args().kind",
    "kind = tyro.cli(Plain).kind",
]


def saved(made: str, gathers: str, *, members: bool = False) -> bool:
    none, ddp = ("Kind.NONE", "Kind.DDP") if members else ('"none"', '"ddp"')
    body = RUN.format(made=made, op="is" if members else "==", none=none, ddp=ddp, gathers=gathers)
    return "FSDP701" in analyse(main(body, KINDS)).codes


@pytest.mark.parametrize("made", WORDS)
def test_the_last_of_the_words(made: str) -> None:
    assert not saved(made, 'kind == "fsdp"')
    assert not saved(made, 'kind.startswith("fs")')
    assert not saved(made, 'kind in {"fsdp", "hsdp"}')
    assert saved(made, 'kind == "ddp"')


@pytest.mark.parametrize("made", OPEN)
def test_there_are_others(made: str) -> None:
    assert saved(made, 'kind == "fsdp"')


@pytest.mark.parametrize("made", MEMBERS)
def test_the_last_of_the_members(made: str) -> None:
    assert not saved(made, "kind is Kind.FSDP", members=True)
    assert not saved(made, "kind.sharded", members=True)
    assert saved(made, "kind is Kind.DDP", members=True)


def test_none_is_no_member() -> None:
    assert saved("kind = tyro.cli(Perhaps).kind", "kind is Kind.FSDP", members=True)


@pytest.mark.parametrize("other", ["Kind.DDP", "Level.DDP"])
def test_members_exclude_each_other(other: str) -> None:
    one = other.replace("DDP", "FSDP")
    body = """
kind = tyro.cli(Run).kind
model = Net()
if kind is {one}:
    fully_shard(model)
if kind is {other}:
    torch.save(model.state_dict(), f"model{{dist.get_rank()}}.pt")
"""
    run = "class Run(BaseModel):\n    kind: {}\n"
    before = KINDS + run.format(one.split(".")[0])
    assert "FSDP701" not in analyse(main(body.format(one=one, other=other), before)).codes
    assert "FSDP701" in analyse(main(body.format(one=one, other=one), before)).codes
