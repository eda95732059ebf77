"""FSDP301 where the model itself is the container of the blocks, and no field of a class holds it."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

MAIN = """
dist.init_process_group("nccl")
wide = 8192

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(wide, wide), nn.Linear(wide, wide)

    def forward(self, x):
        return self.down(self.up(x))

model = {}
{}fully_shard(model)
model(torch.ones(1, wide)).sum().backward()
"""
STACKS = [
    "nn.Sequential(*[Wide() for _ in range(4)])",
    "nn.Sequential(*(Wide() for _ in range(int(os.environ['LAYERS']))))",
    "nn.Sequential(nn.Embedding(9, wide), Wide(), Wide(), Wide(), nn.Linear(wide, 9))",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(wide, 8), 6)",
]


def judged(model: str, first: str = "") -> Analysis:
    return analyse(script(MAIN.format(model, first)))


@pytest.mark.parametrize("model", STACKS)
def test_the_root_alone_is_one_group(model: str) -> None:
    assert "FSDP301" in judged(model).codes


@pytest.mark.parametrize("model", STACKS[:3])
def test_part_by_part_it_is_not(model: str) -> None:
    first = "for part in model:\n    fully_shard(part)\n"
    assert "FSDP301" not in judged(model, first).codes


def test_two_parts_are_no_stack() -> None:
    assert "FSDP301" not in judged("nn.Sequential(Wide(), nn.ReLU(), Wide())").codes


def test_of_parts_that_were_not_seen_nothing_is_proved() -> None:
    analysis = analyse(script(MAIN.format("nn.Sequential(*parts())", ""), "from unseen_package import parts\n"))
    assert "FSDP301" not in analysis.codes and "upheld" not in analysis.verdicts("FSDP301")
