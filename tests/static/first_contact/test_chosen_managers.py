"""A context manager that is chosen, kept, or returned runs around the body of the ``with`` that enters it."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HELPERS = """
import contextlib
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial


@contextmanager
def quiet(model):
    model.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        BACK


class Quiet:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.model.set_requires_gradient_sync(False)

    def __exit__(self, *error):
        self.BACK


def chosen(model, last):
    return nullcontext() if last else quiet(model)
"""
TRAIN = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
silence = partial(quiet, model)
for step in range(100):
    for micro in range(4):
        last = micro == 3
        WITH
            model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WITHS = {
    "written where it is entered": "with nullcontext() if last else quiet(model):",
    "the other way round": "with quiet(model) if not last else nullcontext():",
    "an object of the project": "with nullcontext() if last else Quiet(model):",
    "kept under a name": "manager = nullcontext() if last else quiet(model)\n        with manager:",
    "returned by a helper": "with chosen(model, last):",
    "made by a partial": "with silence() if not last else nullcontext():",
}
BACK = "model.set_requires_gradient_sync(True)"


def verdicts(way: str, back: str) -> set[str]:
    helpers = HELPERS.replace("self.BACK", f"self.{back}" if back != "pass" else back).replace("BACK", back)
    return analyse(script(TRAIN.replace("WITH", WITHS[way]), helpers)).verdicts("FSDP604")


@pytest.mark.parametrize("way", WITHS)
def test_it_switches_back(way: str) -> None:
    assert verdicts(way, BACK) == {"upheld"}


@pytest.mark.parametrize("way", WITHS)
@pytest.mark.parametrize("back", ["pass", BACK.replace("True", "True, recurse=False")])
def test_it_never_switches_back(way: str, back: str) -> None:
    """Or for the group of the root alone."""
    assert verdicts(way, back) == {"violated"}


def test_a_stack_of_managers_is_not_followed_as_one() -> None:
    stacked = "with ExitStack() as stack:\n            stack.enter_context(quiet(model))"
    program = TRAIN.replace("WITH", stacked)
    assert analyse(script(program, HELPERS.replace("self.BACK", "pass").replace("BACK", BACK))).verdicts("FSDP604") == {
        "unknown"
    }
