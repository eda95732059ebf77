"""What is set on parameters, such as whether they decay: it gives them no values, and sharding loses it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HELPERS = """
from fnmatch import fnmatchcase


def annotate(model):
    for name, parameter in model.named_parameters():
        parameter.decays = parameter.ndim > 1


def initialise(model):
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


def shard(model, patterns):
    chosen = {}
    for name, module in model.named_modules():
        for pattern in patterns:
            if fnmatchcase(name, pattern):
                chosen[name] = module
                break
    for name in sorted(chosen, key=lambda each: each.count("."), reverse=True):
        fully_shard(model.get_submodule(name))
    fully_shard(model)


def optimizer_of(model):
    decayed, plain = [], []
    for parameter in model.parameters():
        (decayed if getattr(parameter, "decays", True) else plain).append(parameter)
    return torch.optim.AdamW([{"params": decayed}, {"params": plain, "weight_decay": 0.0}])
"""
TRAIN = """
dist.init_process_group("gloo")
with torch.device("meta"):
    model = Net()
LINES
optimizer = optimizer_of(model)
model(torch.ones(2, 8)).sum().backward()
optimizer.step()
"""
SHARD = 'shard(model, ["layers.*", open("plan.txt").read()])'
EMPTY = 'model.to_empty(device="cpu")'


def verdicts(code: str, *lines: str) -> set[str]:
    return analyse(script(TRAIN.replace("LINES", "\n".join(lines)), HELPERS)).verdicts(code)


@pytest.mark.parametrize(
    ("line", "violated"),
    [("annotate(model)", True), ("initialise(model)", False), ("for p in model.parameters():\n    p.data = p", False)],
)
def test_a_mark_is_no_value(line: str, violated: bool) -> None:
    assert ("violated" in verdicts("FSDP201", SHARD, EMPTY, line)) is violated


@pytest.mark.parametrize(
    ("lines", "violated"),
    [
        (["annotate(model)", SHARD, EMPTY, "initialise(model)"], True),
        ([SHARD, EMPTY, "initialise(model)", "annotate(model)"], False),
    ],
)
def test_a_mark_is_lost_by_the_call_that_surely_comes(lines: list[str], violated: bool) -> None:
    """Which parts the patterns take is not known; the root is sharded in any case."""
    assert ("violated" in verdicts("FSDP317", *lines)) is violated
