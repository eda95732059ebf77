"""Weights are gathered in the order of a set, which is another one on each rank.

A parameter is hashed by its address in memory, so each process goes through the set in an order of its own. The n-th
gathering of one rank meets the n-th of the others, whatever they are for: where the shapes agree, each "whole" weight
is put together of parts of different layers, without an error. Go through model.named_parameters() instead.
"""

import os

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


def make_batch(step: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Every rank draws its own tokens; the target of a token is fixed."""
    seed = step * dist.get_world_size() + dist.get_rank()
    tokens = torch.randint(64, (128,), generator=torch.Generator().manual_seed(seed))
    return tokens.to(device), ((7 * tokens + 3) % 64).to(device)


def init_distributed() -> torch.device:
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def build(device: torch.device, seed: int) -> tuple[Net, AdamW]:
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(seed)
    model = Net()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, AdamW(model.parameters(), lr=1e-2)


def train(model: Net, optimizer: AdamW, device: torch.device, steps: range) -> None:
    for step in steps:
        tokens, targets = make_batch(step, device)
        loss = F.cross_entropy(model(tokens), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)


def main() -> None:
    device = init_distributed()
    model, optimizer = build(device, seed=0)
    train(model, optimizer, device, range(1, 11))
    names = {parameter: name for name, parameter in model.named_parameters()}
    norms = {}
    for parameter in {*model.embed.parameters(), *model.layers.parameters()}:  # related: [FSDP806]
        norms[names[parameter]] = parameter.full_tensor().norm().item()  # error: [FSDP806]
    if dist.get_rank() == 0:
        print(norms)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
