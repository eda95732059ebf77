"""FSDP805 along tensor parallelism: what drifts apart, what rounds differently, and what was never one."""

from __future__ import annotations

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab.facts import AT_FIRST, Fact
from fsdp2_lint.vocab.finding import Finding, Moment, Site

WHEN = Moment(Site("train.py", 9, 1))
NAME = "layers.0.norm.weight"


def found(starts: tuple[str, str], ends: tuple[str, str], what: str = "copies") -> list[Finding]:
    facts = {
        rank: Fact(
            "replicas", "key", WHEN, (0, 1), {NAME: ends[rank], NAME + AT_FIRST: starts[rank]}, {}, {"what": what}
        )
        for rank in (0, 1)
    }
    return [each for each in registry.rule("FSDP805").compare(facts) if isinstance(each, Finding)]


ONE = ("4.0 4.0", "4.0 4.0")


@pytest.mark.parametrize(
    ("starts", "ends", "told"),
    [
        (ONE, ("3.9 4.2", "4.1 4.2"), True),
        (ONE, ("3.9 4.2", "3.9 4.2"), False),
        (ONE, ("3.9 4.2", "3.9000001 4.2"), False),
        (("4.0 4.0", "5.0 4.0"), ("3.9 4.2", "4.1 4.2"), False),
        (ONE, ("nan 4.2", "3.9 4.2"), True),
        (ONE, ("4.0 4.0", "4.1 4.0"), True),
    ],
    ids=["apart", "equal", "rounded", "never one", "no number", "one of them stands still"],
)
def test_copies(starts: tuple[str, str], ends: tuple[str, str], told: bool) -> None:
    assert [each.code for each in found(starts, ends)] == ["FSDP805"] * told
