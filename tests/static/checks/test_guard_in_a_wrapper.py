"""Where the guard is in a helper that many call, the story names the calls that lead to the collective."""

from __future__ import annotations

from tests.static.program import analyse

FILES = {
    "ranks.py": """\
import functools
import torch.distributed as dist


def main_only(function):
    @functools.wraps(function)
    def wrapped(*args):
        if dist.get_rank() == 0:
            return function(*args)
    return wrapped


def total(value):
    dist.all_reduce(value)
    return value
""",
    "report.py": """\
from ranks import main_only, total


def mean(value):
    return total(value) / 2


@main_only
def report(value):
    print(mean(value))
""",
    "train.py": """\
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from report import report

dist.init_process_group()
model = torch.nn.Linear(8, 8)
fully_shard(model)
loss = model(torch.ones(8)).sum()
loss.backward()
report(loss.detach())
""",
}


def test_the_calls_between_are_named() -> None:
    (finding,) = analyse(FILES).result.findings
    places = [(label.site.path.rpartition("/")[2], label.site.row) for label in (finding.primary, *finding.related)]
    assert places[0] == ("ranks.py", 9)
    assert places[1:] == [("report.py", 10), ("report.py", 5), ("ranks.py", 14), ("ranks.py", 8)]
    assert {label.message for label in finding.related[:2]} == {"it is reached through this call"}
