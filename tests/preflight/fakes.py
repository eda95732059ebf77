"""Jobs of any size in this process, and the models that are sharded there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextmanager
def world(rank: int, size: int) -> Iterator[None]:
    """This process is that rank of so many; what the others send is made up."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
    try:
        yield
    finally:
        dist.destroy_process_group()


def mesh(*sizes: int, names: tuple[str, ...] | None = None) -> DeviceMesh:
    return init_device_mesh("cpu", sizes, mesh_dim_names=names)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = x + self.down(torch.relu(self.up(self.norm(x))))
        return found


class Net(nn.Module):
    """Embedding, blocks, head: a decoder as far as its parameters go."""

    def __init__(self, width: int = 8, vocabulary: int = 32, blocks: int = 3, tied: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        found: torch.Tensor = self.head(x)
        return found


def sharded(model: Net, **options: object) -> Net:
    for layer in model.layers:
        fully_shard(layer, **options)  # type: ignore[call-overload]
    fully_shard(model, **options)  # type: ignore[call-overload]
    return model


def with_experts() -> Net:
    """Of 8 ranks: a part of each block is sharded over 4 of them, all else over all."""
    grid = mesh(2, 4, names=("expert", "shard"))
    model = Net()
    for layer in model.layers:
        fully_shard(layer.up, mesh=grid["shard"])
    return sharded(model, mesh=mesh(8))
