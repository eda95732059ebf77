"""Each rank shuffles the data with a seed of its own.

A DistributedSampler shuffles the whole data set on each rank and takes the rank's part of that order. With other seeds
the parts come from other orders: they overlap, and a quarter of the samples is never seen by two ranks. The batches
differ, so nothing looks wrong. Give all ranks one seed: the sampler picks the part by rank.
"""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.optim import AdamW
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


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


def make_loader(rank: int) -> DataLoader:
    """The target of a token is fixed."""
    tokens = torch.randint(64, (1024,), generator=torch.Generator().manual_seed(0))
    data = TensorDataset(tokens, (7 * tokens + 3) % 64)
    sampler = DistributedSampler(data, seed=100 + rank)  # error: [FSDP811]
    return DataLoader(data, batch_size=128, sampler=sampler)


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


def train(model: Net, optimizer: AdamW, device: torch.device, loader: DataLoader) -> None:
    for step, (tokens, targets) in enumerate(loader):
        loss = F.cross_entropy(model(tokens.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)


def main() -> None:
    device = init_distributed()
    model, optimizer = build(device, seed=0)
    train(model, optimizer, device, make_loader(dist.get_rank()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
