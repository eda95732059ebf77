"""Two settings that exclude each other: by a parser, by what a record checks when it is filled, by a list of faults."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import main
from tests.static.program import analyse

KINDS = """
import argparse
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


def saved(made: str) -> bool:
    return "FSDP701" in analyse(main(RUN.format(made=made), KINDS)).codes


@pytest.mark.parametrize("made", [
    'plain, fsdp = args.plain, args.fsdp\nif plain and fsdp:\n    parser.error("not both")',
    "plain, fsdp = args.plain, args.fsdp\nif plain and fsdp:\n    parser.exit(2)",
    "plain, fsdp = args.unsharded, args.sharded",
    "plain, fsdp = args.unsharded, args.stage",
    "plain, fsdp = args.unsharded, args.stage == 3",
    f"run = tyro.cli(Filled)\n{BOTH}",
    f'run = Filled(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked.model_validate(yaml.safe_load(open("run.yaml")))\n{BOTH}',
    f'run = Checked.model_validate_json(open("run.json").read())\n{BOTH}',
])  # fmt: skip
def test_settings_that_exclude_each_other(made: str) -> None:
    assert not saved(made)


@pytest.mark.parametrize("made", [
    'plain, fsdp = args.plain, args.fsdp\nif not plain and fsdp:\n    parser.error("not both")',
    "plain, fsdp = args.plain, args.fsdp",
    "plain, fsdp = args.unsharded, args.ungrouped",
    f"run = tyro.cli(Unchecked)\n{BOTH}",
    f'run = Before(**yaml.safe_load(open("run.yaml")))\n{BOTH}',
])  # fmt: skip
def test_settings_that_do_not(made: str) -> None:
    assert saved(made)


def test_only_a_parser_ends_the_program_with_an_error() -> None:
    assert saved('plain, fsdp = args.plain, args.fsdp\nif plain and fsdp:\n    args.log.error("both")')
