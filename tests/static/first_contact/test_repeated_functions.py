"""``[quiet] * (n - 1) + [loud]``: functions in a list, each called as often as a number says that is not known."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

HELPERS = """
def synced(flag):
    def decorate(function):
        def run(model, x):
            model.set_requires_gradient_sync(flag)
            return function(model, x)

        return run

    return decorate


def micro(model, x):
    loss = model(x).sum()
    loss.backward()
    return loss.detach()


quiet, loud = synced(False), synced(True)


def steps(n):
    return [quiet(micro)] * (n - 1) + [LAST(micro)]


def spoiled(part):
    flag = torch.isfinite(part).logical_not().float()
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return flag.item() > 0
"""
TRAIN = """
dist.init_process_group("gloo")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(9):
    optimizer.zero_grad()
    bad = False
    batches = [torch.ones(2, 8) for _ in range(int(os.environ["MICRO"]))]
    for run, batch in zip(steps(len(batches)), batches):
        if spoiled(run(model, batch)):
            bad = True
            LEAVES
    if not bad:
        optimizer.step()
"""


def verdicts(code: str, last: str, leaves: str) -> set[str]:
    return analyse(script(TRAIN.replace("LEAVES", leaves), HELPERS.replace("LAST", last))).verdicts(code)


@pytest.mark.parametrize(("last", "expected"), [("loud", "upheld"), ("quiet", "violated")])
def test_the_last_one_reduces(last: str, expected: str) -> None:
    assert verdicts("FSDP604", last, "pass") == {expected}


@pytest.mark.parametrize(("leaves", "expected"), [("pass", "upheld"), ("break", "unknown")])
def test_a_window_that_is_left_early(leaves: str, expected: str) -> None:
    """What it has added up so far is not reduced, and nothing clears that: it is no window that ends well."""
    assert verdicts("FSDP615", "loud", leaves) == {expected}
