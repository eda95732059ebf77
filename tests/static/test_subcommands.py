"""Functions that a command line of ``argparse`` chooses: each runs where its command is given."""

from __future__ import annotations

import pytest

from tests.static.program import NET, analyse

PROGRAM = f"""\
import argparse
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

{NET}

def train(first, second, both):
    fully_shard(first)
    fully_shard(both)

def export(first, second, both):
    fully_shard(second)
    fully_shard(both)

def main():
    parser = argparse.ArgumentParser()
{{commands}}
    args = parser.parse_args()
    dist.init_process_group("gloo")
    first, second, both = Net(), Net(), Net()
    torch.optim.AdamW(first.parameters())  # train
    torch.optim.AdamW(second.parameters())  # export
    {{call}}(first, second, both)

main()
"""
EACH = """\
    commands = parser.add_subparsers(required=True{dest})
    one = commands.add_parser("train", help="train it")
    one.set_defaults(run=train)
    two = commands.add_parser("export")
    two.add_argument("--target", required=True)
    two.set_defaults(run=export)
"""
LOOP = """\
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in {"train": train, "export": export}.items():
        added = commands.add_parser(name)
        added.add_argument("--target")
        added.set_defaults(run=function)
"""
ONE = "    parser.set_defaults(run=train)\n"
SOMETIMES = """\
    parser.set_defaults(run=train)
    commands = parser.add_subparsers()
    commands.add_parser("export").set_defaults(run=export)
"""
ALIASED = EACH.format(dest="").replace('"export"', '"export", aliases=["write"]')
NAMED = EACH.format(dest=", dest='command'")


@pytest.mark.parametrize(
    ("commands", "call", "followed"),
    [
        (EACH.format(dest=""), "args.run", {"train", "export"}),
        (NAMED, "args.run", {"train", "export"}),
        (NAMED, "(train if args.command == 'train' else export)", {"train", "export"}),
        (LOOP, "args.run", {"train", "export"}),
        (ONE, "args.run", {"train"}),
        (SOMETIMES, "args.run", {"train", "export"}),
        (ALIASED, "args.run", {"train", "export"}),
    ],
)
def test_each_function_is_followed_where_it_is_chosen(commands: str, call: str, followed: set[str]) -> None:
    """The optimizers are built before the shardings, and ``both`` is sharded once by each command."""
    text = PROGRAM.format(commands=commands, call=call)
    lines = text.splitlines()
    found = [(code, lines[row - 1].rpartition("# ")[2]) for code, _, row in analyse(text).found]
    assert {name for code, name in found if code == "FSDP601"} == followed
    assert "FSDP305" not in dict(found)
