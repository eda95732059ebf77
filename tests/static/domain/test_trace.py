"""Steps as the interpreter emits them: where each happens, and in which activations."""

from __future__ import annotations

from typing import Any

import pytest

from fsdp2_lint.static.domain.events import Step
from fsdp2_lint.static.domain.trace import Trace
from tests.static.program import HEAD, NET, analyse

MODELS = f"""\
{HEAD}
{NET}
def sharded(cls):
    model = cls()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model

READY = sharded(Net)
TABLE = {{"a": sharded(Net), "b": sharded(Net)}}
"""
TRAIN = """\
import torch
import models

def build(name):
    if name:
        return models.TABLE[name]
    return models.READY

def pick(args):
    return build(args.name)

def main(args):
    model = pick(args)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2)).sum().backward()
    optimizer.step()

def parsed():
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    return parser.parse_args()

main(parsed())
"""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    found: list[Step] = []
    add = Trace.add

    def noted(self: Trace, *given: Any, **named: Any) -> Step:
        found.append(add(self, *given, **named))
        return found[-1]

    monkeypatch.setattr(Trace, "add", noted)
    return found


def test_a_step_has_one_activation_for_each_site_of_its_chain(steps: list[Step]) -> None:
    analyse({"train.py": TRAIN, "models.py": MODELS})
    elsewhere = [step for step in steps if step.when.chain[0].path.endswith("models.py")]
    assert elsewhere and len(elsewhere) < len(steps), "top-level code of another file runs where it is asked for"
    assert all(len(step.frames) == len(step.when.chain) for step in steps)


def test_steps_of_any_two_activations_can_be_compared(steps: list[Step]) -> None:
    analyse({"train.py": TRAIN, "models.py": MODELS})
    told = [one.same_call(other) for one in steps for other in steps]
    assert any(told) and not all(told)
