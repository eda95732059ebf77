"""Hooks of an optimizer run before and after each of its steps, whoever registers them (FSDP607, FSDP612)."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

CLIP = """
class Clip:
    def __init__(self, parameters):
        self.parameters = parameters

    def __call__(self, optimizer, args, kwargs):
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)


class Clipped:
    def __init__(self, optimizer, model):
        self.model = model
        optimizer.register_step_post_hook(self.after)

    def after(self, optimizer, args, kwargs):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
"""
MAIN = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
kept = {kept}
optimizer = torch.optim.AdamW(kept)
{register}
for batch in range(10):
    model(torch.ones(2, dtype=torch.long)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LIST = "list(model.parameters())"
BEFORE = "optimizer.register_step_pre_hook(Clip(kept))"
AFTER = "optimizer.register_step_post_hook(Clip(kept))"


def codes(register: str, kept: str = LIST) -> list[str]:
    return analyse(script(MAIN.format(register=register, kept=kept), CLIP)).codes


def test_a_hook_before_the_step_clips_in_time() -> None:
    assert codes(BEFORE) == []
    assert "upheld" in analyse(script(MAIN.format(register=BEFORE, kept=LIST), CLIP)).verdicts("FSDP612")


@pytest.mark.parametrize(
    "register", [AFTER, "Clipped(optimizer, model)", f"if model.head.bias is not None:\n    {AFTER}"]
)
def test_a_hook_after_the_step_clips_too_late(register: str) -> None:
    assert codes(register) == ["FSDP612"]


def test_a_hook_that_was_taken_away_does_nothing() -> None:
    assert codes(f"handle = {AFTER}\nhandle.remove()") == []
    assert codes(f"handle = {BEFORE}\n{AFTER}\nhandle.remove()") == ["FSDP612"]


def test_what_the_optimizer_has_read_is_spent_for_the_hook() -> None:
    assert codes(BEFORE, "(p for p in model.parameters() if p.requires_grad)") == ["FSDP607"]
    assert codes(BEFORE, "model.parameters()") == ["FSDP607"]


PAIR = """
from typing import NamedTuple
import pkg


KEPT = {"norm": torch.zeros(1), "loss": torch.zeros(1)}


class Pair(NamedTuple):
    body: torch.optim.Optimizer
    head: torch.optim.Optimizer


def step(pair):
    for each in pair:
        each.step()


def gather(optimizer, args, kwargs):
    for name in {"norm", "loss"}:
        dist.all_reduce(KEPT[name])
"""
PAIRED = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
pair = Pair(torch.optim.AdamW(model.layers.parameters()), torch.optim.AdamW(model.head.parameters()))
pair.head.register_step_{when}_hook(gather)
for batch in range(10):
    model(torch.ones(2, dtype=torch.long)).sum().backward()
    {step}
raise SystemExit(0)
"""


@pytest.mark.parametrize("when", ["pre", "post"])
@pytest.mark.parametrize("step", ["step(pair)", "pkg.step(pair)", "pair.head.step()"])
def test_hooks_run_whoever_steps(when: str, step: str) -> None:
    assert "FSDP806" in analyse(script(PAIRED.format(when=when, step=step), PAIR)).codes
