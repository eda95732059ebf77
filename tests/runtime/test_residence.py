"""Where parameters lie, on a machine without a GPU: the backends and the memory are what they are told to be."""

from __future__ import annotations

import weakref

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch import nn

from fsdp2_lint.catalogue import registry
from fsdp2_lint.runtime.ledger import Ledger, Sharding
from fsdp2_lint.runtime.monitors.initialisation.device_placement import RuntimeOffload, RuntimePlacement, arriving
from fsdp2_lint.vocab.events.sharding import Offloaded, ShardingBegun
from fsdp2_lint.vocab.finding import Moment, Site
from fsdp2_lint.vocab.rule import Dispatcher, Verdict
from tests.vocab.fakes import Fake

RULES = {rule.code: rule for rule in registry.rules()}
LAUNCHED, FIRST, SECOND = (Moment(Site("train.py", row)) for row in (10, 20, 30))
GIB = 2**30


def sharding(when: Moment = FIRST, arrived: tuple[int, int, int] = (0, 0, 0)) -> Sharding:
    made = Sharding(when, "Net", (), weakref.ref(nn.Module()))
    made.arrived = arrived
    return made


def dispatch(code: str, event: Offloaded | ShardingBegun) -> Verdict:
    dispatcher = Dispatcher([RULES[code]])
    dispatcher.dispatch(event)
    assert not dispatcher.broken
    return next(iter(dispatcher.verdicts.values()))


@pytest.mark.parametrize(
    ("told", "word"),
    [("cuda:nccl", "violated"), ("cpu:gloo,cuda:nccl", "upheld"), ("cpu:gloo", "upheld"), ("undefined", "unknown")],
)
def test_the_group_is_asked_for_its_backends(told: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "get_backend_config", lambda group=None: told)
    unit = Fake(object, "unit", {})
    verdict = dispatch("FSDP105", Offloaded(when=FIRST, offload=RuntimeOffload(sharding(), LAUNCHED), unit=unit))
    assert verdict.word == word
    if word == "violated":
        (finding,) = verdict.findings
        assert finding.primary.site == LAUNCHED.at and "nccl" in finding.message
        assert FIRST.at in finding.sites


def resident(*shardings: Sharding) -> ShardingBegun:
    model = RuntimePlacement(Ledger(), nn.Linear(2, 2), shardings)
    return ShardingBegun(when=shardings[0].when, model=model)


@pytest.mark.parametrize(
    ("blocks", "root", "word", "why"),
    [
        ((2 * GIB, 0, 3 * GIB), (GIB, 0, 2 * GIB), "violated", "all of it lay on the GPU when the first part was cut"),
        ((2 * GIB, 0, 2 * GIB), (GIB, 0, 2 * GIB), "upheld", "the blocks were moved and cut one by one"),
        ((2 * GIB, 0, 3 * GIB), (0, GIB, 2 * GIB), "upheld", "a part of it came from the CPU"),
        ((0, 2 * GIB, 0), (0, GIB, 0), "upheld", "it came from the CPU"),
        ((GIB // 4, 0, GIB), (GIB // 4, 0, GIB), "upheld", "it is small"),
    ],
)
def test_the_whole_model_on_the_gpu(
    blocks: tuple[int, int, int], root: tuple[int, int, int], word: str, why: str
) -> None:
    verdict = dispatch("FSDP206", resident(sharding(FIRST, blocks), sharding(SECOND, root)))
    assert verdict.word == word, why
    if word == "violated":
        assert verdict.findings[0].primary.site == FIRST.at


def test_parameters_on_the_cpu_arrive_elsewhere() -> None:
    assert arriving((nn.Linear(4, 4, bias=False),)) == (0, 64, 0)
    with torch.device("meta"):
        assert arriving((nn.Linear(4, 4, bias=False),))[0] == 0
