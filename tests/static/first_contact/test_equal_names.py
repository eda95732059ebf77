"""Whether two names of a package stand for one value: of one that nobody knows, they may."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
{before}
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
if {asked}:
    model.forward(torch.ones(2, 8, dtype=torch.long))
"""
ONE = [("", "torch.half == torch.float16"), ("", "torch.float is torch.float32"), ("", "torch.long == torch.int64")]
TWO = [("", "torch.half == torch.float32"), ("import json", "json.load == json.loads"), ("", "Net == Block")]
OPEN = [
    ("import settings", "settings.first == settings.last"),
    ("import settings", "settings.kind == Net"),
    ("from settings import config", "config.mode in (config.full, config.hybrid)"),
]


def verdicts(before: str, asked: str) -> set[str]:
    return analyse(script(MAIN.format(before=before, asked=asked))).verdicts("FSDP401")


@pytest.mark.parametrize(("before", "asked"), [*ONE, *OPEN])
def test_what_may_be_one(before: str, asked: str) -> None:
    assert verdicts(before, asked) == {"violated"}


@pytest.mark.parametrize(("before", "asked"), TWO)
def test_what_are_two(before: str, asked: str) -> None:
    assert verdicts(before, asked) == set()  # no place was seen that could break it
