"""Attributes and methods of wrappers, in programs that shard on some of their settings only."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import START, main
from tests.static.program import analyse, script

STRATEGIES = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--strategy")
parser.add_argument("--data")
parser.add_argument("--eager", action="store_true")
parser.add_argument("--steps", type=int)
"""
CHOSEN = """
args = parser.parse_args()
model = Net()
if args.strategy == "fsdp":
    fully_shard(model)
{between}
for step in range(args.steps):
    {way}:
        {use}
"""
USES = [
    ("with model.no_sync(): pass", "FSDP605"),
    ("model.clip_grad_norm_(1.0)", "FSDP606"),
    ("print(model.module)", "FSDP905"),
]


@pytest.mark.parametrize(("use", "code"), USES)
@pytest.mark.parametrize(("between", "way"), [
    ("pass", "if True"),
    ("if args.data is None:\n    raise ValueError('--data')", "if True"),
    ("assert args.data", "if step % 4 != 3"),
    ("pass", "if step + 1 < args.steps"),
    ("pass", "if not (args.eager and step == 20)"),
    ("if args.eager:\n    if args.data is None:\n        raise ValueError('--data')\n    print(args)", "if True"),
])  # fmt: skip
def test_each_run_that_shards_comes_to_it(between: str, way: str, use: str, code: str) -> None:
    assert code in analyse(main(CHOSEN.format(between=between, way=way, use=use), STRATEGIES)).codes


@pytest.mark.parametrize(("use", "code"), USES)
@pytest.mark.parametrize(("between", "way"), [
    ("if args.eager:\n    model = DistributedDataParallel(model)", "if args.eager"),
    ("if args.eager:\n    model = DistributedDataParallel(model)", "if args.data"),
    ("if args.eager:\n    model = DistributedDataParallel(model)", "if args.data and step < 3"),
    ("if args.eager:\n    model = DistributedDataParallel(model)", "if args.strategy == 'ddp' and step < 3"),
])  # fmt: skip
def test_settings_may_choose_another_wrapper(between: str, way: str, use: str, code: str) -> None:
    assert code not in analyse(main(CHOSEN.format(between=between, way=way, use=use), STRATEGIES)).codes


@pytest.mark.parametrize(("use", "code"), USES)
@pytest.mark.parametrize("way", ["if args.data", "if args.eager and step < 3"])
def test_without_another_wrapper_no_setting_chooses_one(way: str, use: str, code: str) -> None:
    program = CHOSEN.format(between="pass", way=way, use=use)
    assert code in analyse(script(START + program, STRATEGIES)).codes
    elsewhere = {"train.py": script(START + program, STRATEGIES), "ddp.py": "from torch.nn import DataParallel\n"}
    assert code not in analyse(elsewhere).codes


@pytest.mark.parametrize(("use", "code"), USES)
def test_without_another_wrapper_the_run_that_shards_may_stay_away(use: str, code: str) -> None:
    program = CHOSEN.format(between="pass", way="if args.strategy == 'none'", use=use)
    assert code not in analyse(script(START + program, STRATEGIES)).codes
