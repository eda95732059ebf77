"""Functions on several ranks, for tests: where the ranks part, and who keeps the others waiting."""

from __future__ import annotations

import glob
import inspect
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from fsdp2_lint.runtime.api import check
from fsdp2_lint.runtime.checked import CheckedRun, run_checked
from fsdp2_lint.runtime.launch.ranks import run_ranks

pytestmark = pytest.mark.torchrun
HERE = Path(__file__)


def train() -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    fully_shard(model[0])
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        torch.manual_seed(10 * step + dist.get_rank())
        model(torch.randn(4, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def trained() -> None:
    train()


def one_more() -> None:
    train()
    if dist.get_rank() == 0:
        dist.barrier()


def late() -> None:
    train()
    if dist.get_rank() == 1:
        wait_until_told()
        raise TimeoutError("the file never came")
    dist.barrier()


def wait_until_told() -> None:
    """A busy machine may have stalled in training, too: that is over once the other one waits here."""
    own = f'"pid":{os.getpid()},'
    for _ in range(900):
        for path in map(Path, glob.glob(f"{tempfile.gettempdir()}/fsdp2-lint-*/**/rank1.jsonl", recursive=True)):
            try:
                mine, other = path.read_text(), path.with_name("rank0.jsonl").read_text()
            except FileNotFoundError:  # of another test, that has just begun or ended
                continue
            if own in mine and _stands(mine) and '"by":"barrier()"' in _stands(other):
                return
        time.sleep(0.05)


def _stands(report: str) -> str:
    """The last stall in it, if nothing has moved on since."""
    last = report.rpartition('"record":"stall"')[2] if '"record":"stall"' in report else ""
    return "" if '"record":"moved_on"' in last else last


def found(run: CheckedRun) -> list[tuple[str, str]]:
    lines = HERE.read_text().splitlines()
    return [(each.code, lines[each.primary.site.row - 1].strip()) for each in run.findings]


def lines_of(*functions: Callable[..., object]) -> set[str]:
    """Whoever waits actively is met at any of its lines, more so on a busy machine."""
    return {line.strip() for each in functions for line in inspect.getsourcelines(each)[0]}


@pytest.mark.slow  # the other one waits for its last words
def test_a_collective_of_one_rank() -> None:
    assert found(run_checked(one_more)) == [("FSDP801", "dist.barrier()")]


@pytest.mark.slow
def test_a_rank_that_keeps_the_other_waiting() -> None:
    run = run_checked(late, stall_after=1.0)
    ((code, line),) = found(run)
    assert code == "FSDP803" and line in lines_of(wait_until_told, _stands) and set(run.errors) == {0, 1}


def test_agreement() -> None:
    run = run_checked(trained)
    run.assert_clean()


def by_hand(kind: str, folder: str) -> list[str]:
    """In a loop of one's own, without a folder."""
    tempfile.tempdir = folder
    dist.init_process_group("gloo")
    watched = None
    try:
        with check(steps=0, stall_after=1.0) as watched:
            late() if kind == "late" else out_of_order()
    except (TimeoutError, RuntimeError):
        pass
    assert watched is not None
    return [f"{each.code} {each.primary.site.row}" for each in watched.findings]


def out_of_order() -> None:
    """Of one shape, so nobody hangs, and each gets something else."""
    model = train()
    for layer in model if dist.get_rank() == 0 else reversed(model):
        layer.weight.full_tensor()


@pytest.mark.parametrize(("kind", "code"), [("late", "FSDP803"), ("order", "FSDP802")])
def test_without_a_folder(kind: str, code: str, tmp_path: Path) -> None:
    outcomes = run_ranks(by_hand, 2, kind, str(tmp_path))
    assert [each.error for each in outcomes] == ["", ""]
    assert any(code in finding for finding in outcomes[0].result), outcomes
    assert kind == "late" or not list(tmp_path.iterdir())  # what went wrong is left to look at
