"""Averaged weights are put into the model between a forward and its backward.

FSDP2 gathers the weights again for the backward, as they are by then: the gradients are of weights
that the forward never used. Plain PyTorch would raise. Put them in after the step, or put the old
ones back before the backward.
"""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.optim import AdamW


class Block(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, dim: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, dim)
        self.layers = nn.ModuleList(Block(dim) for _ in range(layers))
        self.head = nn.Linear(dim, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Average:
    """Follows the weights of a model, with its own shards."""

    def __init__(self, model: nn.Module) -> None:
        self.values = [parameter.detach().clone() for parameter in model.parameters()]

    @torch.no_grad()
    def follow(self, model: nn.Module) -> None:
        for value, parameter in zip(self.values, model.parameters()):
            value.lerp_(parameter, 0.1)

    @torch.no_grad()
    def put_into(self, model: nn.Module) -> None:
        for parameter, value in zip(model.parameters(), self.values):
            parameter.copy_(value)  # related: [FSDP408]


def shard(model: Net) -> None:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh, reshard_after_forward=True)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Net()
    shard(model)
    average = Average(model)
    optimizer = AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(10):
        tokens = torch.randint(64, (8, 17), generator=generator)
        logits = model(tokens[:, :-1])  # related: [FSDP408]
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        average.follow(model)
        average.put_into(model)
        loss.backward()  # error: [FSDP408]
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
