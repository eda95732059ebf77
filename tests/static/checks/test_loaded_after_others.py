"""FSDP203: what filled a model on all ranks before some of them load it, and what is no part of any model."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
dist.init_process_group("nccl")
torch.manual_seed(0)
with torch.device("meta"):
    other = Net()
model = Net()
FIRST
if dist.get_rank() == 0:
    model.load_state_dict(torch.load("base.pt"))
LATER
fully_shard(model)
for batch in batches():
    model(batch).sum().backward()
"""
LINES = """rows = []
with open("train.txt") as lines:
    for line in lines:
        rows.append(line.strip())"""


def verdicts(first: str = "", later: str = "") -> set[str]:
    return analyse(script(MAIN.replace("FIRST", first).replace("LATER", later))).verdicts("FSDP203")


@pytest.mark.parametrize("first", ["", "model.load_state_dict(torch.load('old.pt'))", LINES])
def test_what_comes_first_does_not_count(first: str) -> None:
    assert verdicts(first) == {"violated"}


@pytest.mark.parametrize("later", ["model.load_state_dict(torch.load('new.pt'))", "fill(model)"])
def test_what_comes_later_may_give_all_the_same(later: str) -> None:
    assert "violated" not in verdicts(later=later)


def test_lines_of_a_file_are_no_parts_of_a_model() -> None:
    assert verdicts(later=LINES) == {"violated"}
