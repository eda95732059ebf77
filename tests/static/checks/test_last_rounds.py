"""Which backward is the last before a step, and whether the last rounds of a loop make one at all."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MANAGER = """\
from contextlib import contextmanager


@contextmanager
def deferred(model, more):
    if not more:
        yield
        return
    model.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        model.set_requires_gradient_sync(True)  # on again


class Plan:
    def __init__(self, batches, size):
        self.batches, self.size = batches, size

    def closes(self, i):
        return (i + 1) % self.size == 0


class WholePlan(Plan):
    def closes(self, i):
        return (i + 1) % self.size == 0 or i + 1 == self.batches
"""
PROGRAM = """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
more = int(os.environ["MORE"])
loader = torch.utils.data.DataLoader(torch.load("tokens.pt"))
"""
ROUNDS = {
    "a manager that yields at two places": """
        for step in range(9):
            for micro in range(more):
                with deferred(model, micro < more - 1):
                    model(torch.zeros(1)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "the last round first": """
        for step in range(9):
            for micro in range(more):
                if micro == more - 1:
                    model(torch.zeros(1)).sum().backward()
                else:
                    model.set_requires_gradient_sync(False)
                    model(torch.zeros(1)).sum().backward()
                    model.set_requires_gradient_sync(True)  # on again
            optimizer.step()
            optimizer.zero_grad()
        """,
}
EPOCHS = """
        plan = {plan}(len(loader), more)
        for epoch in range(9):
            for i, tokens in enumerate(loader):
                last = plan.closes(i)
                model.set_requires_gradient_sync(last)
                model(tokens).sum().backward()
                if not last:
                    continue
                optimizer.step()
                optimizer.zero_grad()
        """


def verdicts(code: str, main: str, before: str = MANAGER) -> set[str]:
    return analyse(script(PROGRAM + main.replace("\n        ", "\n"), before)).verdicts(code)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_backward_of_other_rounds_may_be_the_last(name: str) -> None:
    assert verdicts("FSDP604", ROUNDS[name]) == {"unknown"}


@pytest.mark.parametrize("name", ROUNDS)
def test_nobody_switches_on_again(name: str) -> None:
    lines = (MANAGER + "CUT" + ROUNDS[name]).splitlines(keepends=True)
    before, _, main = "".join(
        line.replace("model.set_requires_gradient_sync(True)  # on again", "pass") for line in lines
    ).partition("CUT")
    assert verdicts("FSDP604", main, before) == {"violated"}


def test_the_last_window_of_an_epoch_may_be_short() -> None:
    assert verdicts("FSDP615", EPOCHS.format(plan="Plan")) == {"unknown"}
    assert verdicts("FSDP615", EPOCHS.format(plan="WholePlan")) == {"upheld"}
