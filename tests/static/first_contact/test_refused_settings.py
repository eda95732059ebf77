"""Two settings that exclude each other: by a parser, by what a record checks when it is filled, by a list of faults."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
import argparse
import attrs
import tyro
from pydantic import BaseModel, model_validator

parser = argparse.ArgumentParser()
parser.add_argument("--plain", action="store_true")
parser.add_argument("--fsdp", action="store_true")
group = parser.add_mutually_exclusive_group()
group.add_argument("--unsharded", action="store_true")
group.add_argument("--sharded", action="store_true")
group.add_argument("--stage", type=int)
apart = parser.add_argument_group()
apart.add_argument("--ungrouped", action="store_true")

def faults(given):
    found = []
    if given.plain and given.fsdp:
        found.append("both")
    return found

@dataclass
class Filled:
    plain: bool = False
    fsdp: bool = True

    def __post_init__(self):
        if self.plain and self.fsdp:
            raise ValueError

@dataclass
class Unchecked:
    plain: bool = False
    fsdp: bool = True

class Checked(BaseModel):
    plain: bool = False
    fsdp: bool = True

    @model_validator(mode="after")
    def exclusive(self):
        if self.plain and self.fsdp:
            raise ValueError
        return self

class Before(BaseModel):
    plain: bool = False
    fsdp: bool = True

    @model_validator(mode="before")
    def exclusive(self):
        return self

@dataclass
class Holds:
    inner: Filled
    steps: int = 1

class HoldsChecked(BaseModel):
    inner: Checked
    again: "HoldsChecked | None" = None

@attrs.define
class Defined:
    plain: bool = False
    fsdp: bool = True

    def __attrs_post_init__(self):
        if self.plain and self.fsdp:
            raise ValueError

class Named(BaseModel):
    plain: bool = False
    fsdp: bool = True

    def model_post_init(self, context):
        if self.plain and self.fsdp:
            raise ValueError

class Loose(BaseModel):
    inner: Before
"""
RUN = """
args = parser.parse_args()
{made}
model = Net()
if fsdp:
    fully_shard(model)
if plain and dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
"""
BOTH = "plain, fsdp = run.plain, run.fsdp"
ASKED = "plain, fsdp = args.plain, args.fsdp\n"


def saved(made: str) -> bool:
    return "FSDP701" in analyse(main(RUN.format(made=made), KINDS)).codes


@pytest.mark.parametrize("made", [
    f'{ASKED}if plain and fsdp:\n    parser.error("not both")',
    f"{ASKED}if plain and fsdp:\n    parser.exit(2)",
    "plain, fsdp = args.unsharded, args.sharded",
    "plain, fsdp = args.unsharded, args.stage",
    "plain, fsdp = args.unsharded, args.stage == 3",
    f"{ASKED}if plain is True and fsdp is True:\n    raise ValueError",
    f"{ASKED}if plain == fsdp:\n    raise ValueError",
    f"{ASKED}if plain + fsdp > 1:\n    raise ValueError",
    f"{ASKED}assert sum([plain, fsdp, args.ungrouped]) <= 1",
    f"{ASKED}plain &= not fsdp",
    f'{ASKED}modes = [m for m in ("plain", "fsdp") if getattr(args, m)]\nassert len(modes) < 2',
    f"{ASKED}for fault in faults(args):\n    raise ValueError(fault)",
    f"{ASKED}for fault in faults(args):\n    print(fault)\n    sys.exit(1)",
    f"run = tyro.cli(Filled)\n{BOTH}",
    f'run = Filled(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked.model_validate(yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked.model_validate_json(open("run.json").read())\n{BOTH}',
    f"run = tyro.cli(Holds).inner\n{BOTH}",
    f'run = HoldsChecked(**yaml.safe_load(open("run.yaml"))).inner\n{BOTH}',
    f'run = HoldsChecked.model_validate(yaml.safe_load(open("run.yaml"))).inner\n{BOTH}',
    f'run = Defined(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Named(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
])  # fmt: skip
def test_settings_that_exclude_each_other(made: str) -> None:
    assert not saved(made)


@pytest.mark.parametrize("made", [
    f'{ASKED}if not plain and fsdp:\n    parser.error("not both")',
    ASKED,
    "plain, fsdp = args.unsharded, args.ungrouped",
    f"{ASKED}if plain != fsdp:\n    raise ValueError",
    f"{ASKED}assert sum([plain, fsdp, args.ungrouped]) <= 2",
    f"{ASKED}plain |= not fsdp",
    f"{ASKED}for fault in faults(args):\n    print(fault)",
    f"{ASKED}for fault in faults(args):\n    if args.ungrouped:\n        raise ValueError(fault)",
    f"run = tyro.cli(Unchecked)\n{BOTH}",
    f'run = Before(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Loose(**yaml.safe_load(open("run.yaml"))).inner\n{BOTH}',
])  # fmt: skip
def test_settings_that_do_not(made: str) -> None:
    assert saved(made)


def test_only_a_parser_ends_the_program_with_an_error() -> None:
    assert saved(f'{ASKED}if plain and fsdp:\n    args.log.error("both")')


NESTED = """
def validate(given):
    if given.plain and given.fsdp:
        {refuses}

def prepare(given):
    {calls}

class Settings:
    def __init__(self, given):
        self.plain, self.fsdp = given.plain, given.fsdp
        self.validate()

    def validate(self):
        validate(self)
"""


@pytest.mark.parametrize("refuses", ["raise ValueError", "sys.exit(1)", 'parser.error("both")', "assert False"])
@pytest.mark.parametrize("calls, used", [
    ("validate(given)", "prepare(args)"),
    ("return validate(given)", "prepare(args)"),
    ("pass", "args = Settings(args)"),
])  # fmt: skip
def test_what_a_helper_of_a_helper_refuses(refuses: str, calls: str, used: str) -> None:
    helpers = KINDS + NESTED.format(refuses=refuses, calls=calls)
    program = main(RUN.format(made=f"{used}\n{ASKED}"), helpers)
    assert "FSDP701" not in analyse(program).codes
    assert "FSDP701" in analyse(program.replace("given.plain and given.fsdp", "given.plain and not given.fsdp")).codes
