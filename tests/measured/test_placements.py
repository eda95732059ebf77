"""What the source is thought to do to a partial value is what torch does to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.static.first_contact.test_partial_values_cast import is_local

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

CASTS = ["t.double()", "t.bfloat16()", "t.half()", "t.to(torch.float64)"]
SHAPES = ["t.detach()", "t.view(1)", "t.reshape(1)", "t.flatten()", "t.unsqueeze(0)", "t.squeeze()", "t.contiguous()"]
OTHERS = ["t / 2", "2 * t", "t * 0.5", "t.clone()", "t.sqrt()"]


@pytest.fixture
def shards() -> Iterator[DTensor]:
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield distribute_tensor(torch.ones(8), init_device_mesh("cpu", (2,)), [Shard(0)])
    dist.destroy_process_group()


@pytest.mark.parametrize("reduced", ["sum", "mean", "max", "norm"])
def test_what_stays_partial(shards: DTensor, reduced: str) -> None:
    stays = {
        value: eval(value, {"t": getattr(shards, reduced)(), "torch": torch}).placements[0].is_partial()
        for value in [*CASTS, *SHAPES, *OTHERS]
    }
    assert stays == {value: is_local(reduced, f"({value}).item()") for value in stays}
