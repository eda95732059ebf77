"""FSDP617 of totals: of how many elements of a file's listing a number is made, each rank may decide by its number."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

STREAM = """
import json
from itertools import islice
from torch.optim.lr_scheduler import LambdaLR


class Stream:
    def __init__(self):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.parts = tuple((f, n) for f, n in sorted(json.loads(open("index.json").read()).items()))

    def count(self):
        return max(1, TOTAL)


def falling(total):
    return lambda step: min(1.0, step / total)
"""
MAIN = """
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
schedule = LambdaLR(optimizer, falling(Stream().count()))
for batch in torch.load("batches.pt"):
    model(batch).sum().backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
"""
OWN = "self.parts[self.rank :: self.world]"
TOTALS = [
    f"sum(n for _, n in {OWN})",
    f"sum(n for _, n in sorted({OWN}))",
    f"sum(n for _, (_, n) in enumerate({OWN}))",
    f"sum(dict({OWN}).values())",
    f"sum({{f: n for f, n in {OWN}}}.values())",
    f"max(n for _, n in {OWN})",
    f"len([n for _, n in {OWN}])",
    "sum(n for _, n in islice(self.parts, self.rank, None, self.world))",
]


@pytest.mark.parametrize("total", TOTALS)
def test_a_schedule_as_long_as_a_part(total: str) -> None:
    assert analyse(script(MAIN, STREAM.replace("TOTAL", total))).verdicts("FSDP617") == {"unknown"}


def test_a_schedule_that_settings_say() -> None:
    for total in ("4 * self.world", 'int(os.environ["STEPS"]) // self.world'):
        assert analyse(script(MAIN, STREAM.replace("TOTAL", total))).verdicts("FSDP617") == {"upheld"}
