"""The shards of a model lie on the CPU, and each rank initialises its own there.

On the CPU every rank draws from its own generator, and all of them are seeded alike: the shards
of each weight are copies of one. Initialise the model before it is sharded, or on the GPU and
move it to the CPU then, or seed by the rank within the group of the shards.
"""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.optim import AdamW


class Block(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def reset_parameters(self) -> None:
        for part in (self.norm, self.up, self.down):
            part.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, dim: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, dim)
        self.layers = nn.ModuleList(Block(dim) for _ in range(layers))
        self.head = nn.Linear(dim, 64)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.embed.weight, std=0.02)  # error: [FSDP208]
        for layer in self.layers:
            layer.reset_parameters()
        self.head.reset_parameters()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model: Net) -> None:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    offload = CPUOffloadPolicy(pin_memory=False)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, offload_policy=offload)
    fully_shard(model, mesh=mesh, offload_policy=offload)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    with torch.device("meta"):
        model = Net()
    shard(model)
    model.to_empty(device="cpu")  # related: [FSDP208]
    model.reset_parameters()
    optimizer = AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(10):
        tokens = torch.randint(64, (8, 17), generator=generator)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
