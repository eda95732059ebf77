"""Batches that a program draws itself, out of data that all ranks have: the seed decides who gets what."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
{seed}
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
{again}
optimizer = torch.optim.AdamW(model.parameters())
{data}

def get_batch():
    {places}
    {batch}

for step in range(100):
    x, y = get_batch()
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SEED = "torch.manual_seed(0)"
FILE = "data = np.memmap('train.bin', dtype=np.uint16, mode='r')"
DRAWN = "places = torch.randint(len(data) - 9, (8,))"
WINDOWS = (
    "x = torch.stack([torch.from_numpy(data[i : i + 8].astype(np.int64)) for i in places])\n"
    "    y = torch.stack([torch.from_numpy(data[i + 1 : i + 9].astype(np.int64)) for i in places])\n"
    "    return x.cuda(), y.cuda()"
)
ROWS = "return data[places].cuda(), places"
OWN = "gen = torch.Generator().manual_seed({seed})\ndata = torch.arange(1000)"
BY_OWN = "places = torch.randint(900, (8,), generator=gen)"


def codes(
    seed: str = SEED, again: str = "pass", data: str = FILE, places: str = DRAWN, batch: str = WINDOWS
) -> list[str]:
    return analyse(
        script(MAIN.format(seed=seed, again=again, data=data, places=places, batch=batch), "import numpy as np")
    ).codes


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"data": "data = np.load('x.npy', mmap_mode='r')"},
        {"data": "data = torch.arange(1000)", "batch": ROWS},
        {"data": OWN.format(seed=1), "places": BY_OWN, "batch": ROWS},
        {"data": "data = torch.arange(1000)", "places": "places = torch.randperm(len(data))[:8]", "batch": ROWS},
    ],
)
def test_the_same_places_on_every_rank(given: dict[str, str]) -> None:
    assert codes(**given) == ["FSDP808"]


@pytest.mark.parametrize(
    "given",
    [
        {"again": "torch.manual_seed(rank)"},
        {"seed": "pass"},
        {"data": "data = np.memmap(f'train_{rank}.bin', dtype=np.uint16, mode='r')"},
        {"data": OWN.format(seed="1 + rank"), "places": BY_OWN, "batch": ROWS},
        {"data": "data = torch.arange(1000)", "places": f"{DRAWN} + rank", "batch": ROWS},
        {"data": "data = torch.arange(1000)", "places": f"{DRAWN}[rank::2]", "batch": ROWS},
        {"data": "data = torch.arange(1000)[rank::2]", "batch": ROWS},
        {"data": "from corpus import data"},
        {"data": "torch.manual_seed(rank)\ndata = torch.randint(9, (1000,))\ntorch.manual_seed(0)", "batch": ROWS},
        {
            "places": "places = torch.randint(len(data) - 9, (8,), generator=sampler)",
            "again": "from own import sampler",
        },
        {"batch": WINDOWS.replace("data[i :", "data[i + shift :"), "again": "from own import shift"},
    ],
)
def test_what_may_be_other_places(given: dict[str, str]) -> None:
    assert codes(**given) == []
