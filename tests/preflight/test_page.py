"""What people read of a rehearsal, as a whole; and that it goes through JSON unharmed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy

from fsdp2_lint.preflight.page import text
from fsdp2_lint.preflight.page.words import dtypes, in_bytes, in_numbers, peak_in_words, runs
from fsdp2_lint.preflight.plan.codec import as_json, from_json
from fsdp2_lint.preflight.plan.reading import plan_of
from fsdp2_lint.preflight.plan.shape import (
    Held,
    Limit,
    MemoryProfile,
    Plan,
    Rehearsal,
    Rehearsed,
    Sample,
)
from fsdp2_lint.preflight.plan.what_if import alternatives
from fsdp2_lint.vocab.finding import Observed, Site
from tests import fake
from tests.preflight.fakes import Net, sharded, with_experts, world


def planned(size: int, **options: object) -> Plan:
    with world(0, size), torch.device("meta"):
        return plan_of(sharded(Net(width=5, vocabulary=11, tied=True), **options))


@pytest.fixture
def rehearsal() -> Rehearsal:
    held = Held(parameters=40_000, gradients=20_000, activations=5 * 2**20)
    peak = Sample(2, "backward", "layers.1", held)
    memory = MemoryProfile((Sample(1, "forward", "", Held(parameters=40_000)), peak), peak, 2, 0)
    small = planned(2)
    lines = tuple(replace(each, at=Site("/a/t.py", 7 + at)) for at, each in enumerate(small.groups[:2]))
    small = replace(small, groups=(*lines, *small.groups[2:]))
    return Rehearsal(
        "train.py",
        ("--lr", "1"),
        "step",
        (
            Rehearsed(2, (0, 1), small, memory, alternatives(small, 8)),
            Rehearsed(8, (0, 4, 7), planned(8)),
            Rehearsed(16, (0,), None),
        ),
        limits=(Limit("torch.compile was left out", Site("/jobs/train.py", 12)), Limit("numbers are made up")),
    )


WHOLE = """\
train.py --lr 1 (rehearsed: step)

2 ranks, of which ranks 0-1 ran here
  Net: 760 parameters in 4 groups
  group                     class  unsharded   a rank has  ranks  after forward  dtype (gathered, reduced)  sharded at
  (root)                    Net    220 B       120 B       2      kept           float32                    /a/t.py:7
  layers.0                  Block  940 B       516 B       2      freed          float32                    /a/t.py:8
  layers.1 to layers.2 (2)  Block  940 B each  516 B each  2      freed          float32
  tied: embed.weight = head.weight
  uneven: layers.0.norm.weight and 11 more: 5 rows over 2 ranks: 3 for the first, 2 for the last that has any
  uneven: embed.weight: 11 rows over 2 ranks: 6 for the first, 5 for the last that has any
  memory of the fullest rank, from step to step (Adam's two states):
    parameters       1.63 KiB
    gradients        1.63 KiB
    optimizer state  3.26 KiB
    in all           6.52 KiB
    largest group while gathered: layers.0, 1.01 KiB
  peak of a step: 5.06 MiB, in backward of layers.1, step 2:
    parameters   39.06 KiB
    gradients    19.53 KiB
    activations  5.00 MiB
  a rank sends in a step, with each group run once:
    7 all-gathers      over 2 ranks  3.14 KiB
    4 reduce-scatters  over 2 ranks  1.63 KiB
    in all                           4.77 KiB
  other plans, without activations:
                state     gathered at once  gradients at once  in all     sent in a step  collectives
    as it is    6.52 KiB  1.24 KiB          940 B              8.68 KiB   4.77 KiB        11
    root only   6.52 KiB  3.26 KiB          2.97 KiB           12.74 KiB  3.26 KiB        2
    no reshard  6.52 KiB  3.26 KiB          940 B              10.69 KiB  3.26 KiB        8

8 ranks, of which ranks 0, 4, 7 ran here
  Net: 760 parameters in 4 groups
  group                     class  unsharded   a rank has  ranks  after forward  dtype (gathered, reduced)  sharded at
  (root)                    Net    220 B       40 B        8      kept           float32
  layers.0 to layers.2 (3)  Block  940 B each  164 B each  8      freed          float32
  tied: embed.weight = head.weight
  uneven: layers.0.up.weight and 5 more: 20 rows over 8 ranks: 3 for most, 2 for the last that has any, none for 1
  uneven: layers.0.norm.weight and 11 more: 5 rows over 8 ranks: 1 for most, none for 3
  uneven: embed.weight: 11 rows over 8 ranks: 2 for most, 1 for the last that has any, none for 2
  memory of the fullest rank, from step to step (Adam's two states):
    parameters       532 B
    gradients        532 B
    optimizer state  1.04 KiB
    in all           2.08 KiB
    largest group while gathered: layers.0, 1.28 KiB
  a rank sends in a step, with each group run once:
    7 all-gathers      over 8 ranks  7.00 KiB
    4 reduce-scatters  over 8 ranks  3.64 KiB
    in all                           10.64 KiB

16 ranks, of which rank 0 ran here
  Nothing was sharded.

  ranks  parameters  gradients  optimizer  peak      sent in a step
  2      1.63 KiB    1.63 KiB   3.26 KiB   5.06 MiB  4.77 KiB
  8      532 B       532 B      1.04 KiB             10.64 KiB

What was not as in the job:
  - torch.compile was left out (/jobs/train.py:12)
  - numbers are made up
  - bytes are those of tensors: NCCL's buffers (often 1 to 2 GB), the CUDA context and fragmentation come on top
  - kept for backward is what kernels of the CPU keep: those of a GPU, as of attention, may keep other tensors
  - an optimizer that takes all parameters at once, GPUs' default, needs as much again as a rank's parameters
"""


def test_the_text(rehearsal: Rehearsal) -> None:
    found = text.render(rehearsal)
    assert found == WHOLE


def test_groups_that_are_alike_take_one_line() -> None:
    plan = planned(4)
    found = text.render(Rehearsal("train.py", (), "plan", (Rehearsed(4, (0,), plan),)))
    assert "layers.0 to layers.2 (3)" in found and "layers.1 " not in found


def test_blocks_and_their_experts_take_turns() -> None:
    with world(0, 8):
        names = [run.name for run in runs(plan_of(with_experts()))]
    assert names == ["(root)", "layers.0 to layers.2", "layers.0.up to layers.2.up"]


def test_dtypes() -> None:
    low = planned(2, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    assert (dtypes(planned(2).groups[0]), dtypes(low.groups[0])) == ("float32", "float32 (bfloat16, float32)")


def test_parameters_in_no_group() -> None:
    plan = plan_of(Net())
    found = text.render(Rehearsal("train.py", (), "plan", (Rehearsed(1, (0,), plan),)))
    assert "in no group: embed.weight, 1.00 KiB on every rank, trained without being reduced" in found


def test_limits_of_memory_are_those_of_a_watched_step(rehearsal: Rehearsal) -> None:
    assert "NCCL" in text.render(rehearsal)
    sizes = tuple(replace(each, memory=None) for each in rehearsal.sizes)
    assert "NCCL" not in text.render(replace(rehearsal, sizes=sizes))


def test_names_cannot_write_to_the_terminal(rehearsal: Rehearsal) -> None:
    small = rehearsal.sizes[0]
    assert small.plan is not None
    evil = replace(small.plan, label="\x1b[31mred", groups=(replace(small.plan.groups[0], fqn="a\x1b[2J"),))
    found = text.render(replace(rehearsal, sizes=(replace(small, plan=evil),), script="\x1b]0;x"))
    assert "\x1b" not in found


@pytest.mark.parametrize(
    ("phase", "where", "words"),
    [
        ("backward", "layers.1", "1.00 KiB, in backward of layers.1, step 2"),
        ("backward", "", "1.00 KiB, in backward outside the sharded modules, step 2"),
        ("optimizer", "", "1.00 KiB, in the optimizer's step, step 2"),
    ],
)
def test_where_the_peak_is(phase: str, where: str, words: str) -> None:
    peak = Sample(2, phase, where, Held(other=1024))
    assert peak_in_words(MemoryProfile((peak,), peak, 2, 0)) == words


def test_bytes_and_numbers_in_words() -> None:
    assert [in_bytes(each) for each in (0, 1023, 1024, 2**20 * 1500, 2**30 * 2000)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "1.46 GiB",
        "2,000.00 GiB",
    ]
    assert [in_numbers(each) for each in (999_999, 8_030_000_000, 2 * 10**12)] == ["999,999", "8.03 B", "2.00 T"]


def test_there_and_back(rehearsal: Rehearsal) -> None:
    finding = fake.finding(fake.site("/jobs/train.py", 3, 1, 3, 9))
    whole = replace(rehearsal, findings=(replace(finding, observed=Observed((0, 2), 1, "layers.0")),))
    assert from_json(Rehearsal, json.loads(json.dumps(as_json(whole)))) == whole


def test_a_number_of_ranks_is_no_yes() -> None:
    plans = planned(8, reshard_after_forward=True), planned(8, reshard_after_forward=2)
    for plan in plans:
        back = from_json(Plan, json.loads(json.dumps(as_json(plan))))
        assert [(type(each.reshards), each.reshards) for each in back.groups] == [
            (type(each.reshards), each.reshards) for each in plan.groups
        ]


@pytest.mark.parametrize("wrong", [{"rank": "0"}, {"rank": True}, {"groups": {}}, {"groups": [3]}, {"buffers": None}])
def test_what_is_no_plan(wrong: dict[str, object]) -> None:
    values = {**as_json(planned(2)), **wrong}
    with pytest.raises((ValueError, TypeError, LookupError)):
        from_json(Plan, values)
    with pytest.raises((ValueError, TypeError, LookupError)):
        from_json(Plan, {})


def test_fields_of_a_later_version_are_left_out() -> None:
    plan = planned(2)
    assert from_json(Plan, {**as_json(plan), "later": 1}) == plan
