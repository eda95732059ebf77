"""A group that is frozen at the first forward and trained later, with a torch that takes no notice of that.

With torch 2.13 (fsdp2-lint.toml says so) the first forward settles in which dtype each group reduces its gradients, and
finds none for the groups that are frozen by then. The first backward of the second stage raises: "attempting to assign
a gradient with dtype 'c10::BFloat16' to a tensor with grad_dtype 'Float'". Torch 2.14 has fixed it (pytorch#186998).
"""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
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


def shard(model: Net, mesh: DeviceMesh) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)  # related: [FSDP910]
    fully_shard(model, mesh=mesh, mp_policy=policy)


def train(model: Net, optimizer: AdamW, device: torch.device, steps: range) -> None:
    for step in steps:
        tokens, targets = make_batch(step, device)
        loss = F.cross_entropy(model(tokens).float(), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    device = init_distributed()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    model.layers.requires_grad_(False)
    shard(model, mesh)
    train(model, AdamW(model.head.parameters(), lr=1e-2), device, range(5))
    model.layers.requires_grad_(True)  # warning: [FSDP910]
    train(model, AdamW(model.parameters(), lr=1e-3), device, range(5, 10))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
