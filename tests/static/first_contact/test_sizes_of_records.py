"""Sizes that come through ``asdict(config) | overrides`` and ``[width] * depth``."""

from __future__ import annotations

import pytest

from tests.static.program import HEAD, analyse

PROGRAM = """
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from typing import ClassVar

@dataclass
class Attention:
    heads: int = 4
    size: int = 16

@dataclass
class Config:
    kind: ClassVar[str] = "net"
    hidden: int = field(init=False, default=0)
    width: int = 64
    depth: int = 2
    attention: Attention = field(default_factory=Attention)

    @classmethod
    def of(cls, values):
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.mix = nn.Linear(config.width, config.width)

    def forward(self, x):
        return x + self.mix(x)

def layers(sizes):
    return nn.Sequential(*[nn.Linear(given, made) for given, made in zip(sizes, sizes[1:])])

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = {made}
model = model.cuda()
for part in model:
    fully_shard(part)
fully_shard(model)
"""
WRITTEN = [
    'nn.Sequential(Block(Config(**(asdict(Config()) | {"width": %d}))))',
    'nn.Sequential(Block(Config.of({**asdict(Config()), "width": %d, "more": 1})))',
    "nn.Sequential(*map(Block, [replace(Config(), width=%d)] * 3))",
    "nn.Sequential(*[Block(each) for each in [Config(%d)] * 4])",
    "layers([%d] * 5)",
    "layers([8, *([%d] * 3), 8])",
    'nn.Sequential(nn.Linear(asdict(Config(attention=Attention(size=%d)))["attention"]["size"], 8))',
]


@pytest.mark.parametrize("made", WRITTEN)
def test_a_written_size(made: str) -> None:
    program = HEAD + PROGRAM
    assert "FSDP206" not in analyse(program.replace("{made}", made % 64)).codes
    if "size=%d" not in made:
        assert "FSDP206" in analyse(program.replace("{made}", made % 30000)).codes


def test_a_field_that_is_given_replaces_the_one_of_the_record() -> None:
    made = "nn.Sequential(Block(Config(**(asdict(Config(width=30000)) | {'width': 64}))))"
    assert "FSDP206" not in analyse((HEAD + PROGRAM).replace("{made}", made)).codes


def test_more_of_them_than_are_followed_one_by_one() -> None:
    made = "nn.Sequential(*[Block(each) for each in [Config(3000)] * 4000])"
    assert analyse((HEAD + PROGRAM).replace("{made}", made)).verdicts("FSDP206") != {"upheld"}
