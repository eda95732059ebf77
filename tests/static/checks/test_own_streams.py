"""Streams without a loader of torch that give each rank its part: FSDP617 of what comes out, and FSDP808."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

STREAM = """
import itertools
import json


class Stream:
    def __init__(self, path, rank, world):
        self.path, self.rank, self.world = path, rank, world
"""
LINES = """
    def lines(self):
        while True:
            for i, line in enumerate(open(self.path)):
                {dealt}
"""
MAIN = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
for x in Stream("data", {rank}, {world}):
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    plateau.step({told})
"""
EVERY = "if i % self.world == self.rank:\n                    yield json.loads(line)"
SKIPPED = "if i % self.world != self.rank:\n                    continue\n                yield json.loads(line)"
PRINTED = "if self.rank == 0:\n                    print(line)\n                yield json.loads(line)"
WITHIN = "    def __iter__(self):\n        for line in self.lines():\n            yield torch.tensor(line)\n"
BY_HAND = """
    def __iter__(self):
        source = self.lines()
        while True:
            yield torch.tensor([next(source) for _ in range(4)])
"""
BUFFER = """
    def __iter__(self):
        self.tokens = []
        source = self.lines()
        while True:
            while len(self.tokens) < 100:
                self.tokens.extend(next(source))
            yield torch.tensor(self.tokens[:100])
            self.tokens = self.tokens[100:]
"""
DEALT = {
    "every so many": LINES.format(dealt=EVERY) + WITHIN,
    "the others are skipped": LINES.format(dealt=SKIPPED) + WITHIN,
    "taken one by one": LINES.format(dealt=EVERY) + BY_HAND,
    "through a buffer": LINES.format(dealt=EVERY) + BUFFER,
    "a slice": "    def __iter__(self):\n        for line in open(self.path).readlines()[self.rank::self.world]:\n"
    "            yield torch.tensor(json.loads(line))\n",
    "islice": "    def __iter__(self):\n"
    "        for line in itertools.islice(open(self.path), self.rank, None, self.world):\n"
    "            yield torch.tensor(json.loads(line))\n",
}
GLOBAL, LOCAL, WORLD = "dist.get_rank()", "int(os.environ['LOCAL_RANK'])", "dist.get_world_size()"
ON_NODE = "int(os.environ['LOCAL_WORLD_SIZE'])"


def verdicts(code: str, body: str, rank: str = GLOBAL, world: str = WORLD, told: str = "loss.item()") -> set[str]:
    return analyse(script(MAIN.format(rank=rank, world=world, told=told), STREAM + body)).verdicts(code)


@pytest.mark.parametrize("name", DEALT)
def test_what_comes_out_is_the_rank_s_own(name: str) -> None:
    assert verdicts("FSDP617", DEALT[name]) == {"violated"}


@pytest.mark.parametrize("name", DEALT)
def test_dealt_by_the_rank_on_the_node(name: str) -> None:
    assert verdicts("FSDP808", DEALT[name], LOCAL) == {"violated"}
    assert verdicts("FSDP808", DEALT[name], LOCAL, ON_NODE) == {"unknown"}  # perhaps each node has files of its own
    assert verdicts("FSDP808", DEALT[name]) == {"unknown"}


@pytest.mark.parametrize(
    "body",
    [
        LINES.format(dealt="yield json.loads(line)") + WITHIN,
        LINES.format(
            dealt="if self.rank == 0:\n                    print(line)\n                yield json.loads(line)"
        )
        + WITHIN,
    ],
)
def test_not_dealt_out(body: str) -> None:
    assert "violated" not in verdicts("FSDP617", body)
    assert "violated" not in verdicts("FSDP808", body, LOCAL)


REDUCED = """
def mean(figures):
    found = dict(figures)
    for name in {names}:
        value = torch.tensor(figures[name])
        dist.all_reduce(value)
        found[name] = value.item()
    return found
"""


@pytest.mark.parametrize(
    ("names", "verdict"),
    [("sorted(figures)", "upheld"), ("os.environ['NAMES'].split()", "unknown"), ("()", "violated")],
)
def test_numbers_that_are_replaced_under_names(names: str, verdict: str) -> None:
    """What is put in under a key that is not known may stand in the place of any other."""
    told = "mean({'loss': loss.item(), 'twice': 2 * loss.item()})['loss']"
    text = script(
        MAIN.format(rank=GLOBAL, world=WORLD, told=told), REDUCED.format(names=names) + STREAM + DEALT["islice"]
    )
    assert analyse(text).verdicts("FSDP617") == {verdict}


PACKS = """
from dataclasses import dataclass


@dataclass
class Pack:
    tokens: torch.Tensor
    places: torch.Tensor

    def to(self, device):
        return Pack(self.tokens.to(device), self.places.to(device))
"""
WINDOWS = """
source = iter(Stream("data", {rank}, dist.get_world_size()))
for step in range(9):
    window = [Pack(next(source), torch.arange(9)) for _ in range(4)]
    for pack in window:
        loss = model(pack.to("cuda").tokens).mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    plateau.step(loss.item())
"""


@pytest.mark.parametrize(("rank", "code"), [(GLOBAL, "FSDP617"), (LOCAL, "FSDP808")])
def test_fields_of_one_of_several_batches(rank: str, code: str) -> None:
    start = MAIN.partition("for x in Stream")[0]
    text = script(start + WINDOWS.format(rank=rank), PACKS + STREAM + DEALT["every so many"])
    assert analyse(text).verdicts(code) == {"violated"}
