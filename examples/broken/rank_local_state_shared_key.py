"""All ranks save the state of their random numbers under one key.

Each rank has a seed of its own, so each has another state. DCP takes what is not a sharded tensor for the same on all
ranks and keeps the value of one. After a load all ranks draw the same numbers. The rank belongs into the key.
"""

import os
import shutil

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict
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
    torch.manual_seed(100 + dist.get_rank())  # related: [FSDP712]
    train(model, optimizer, device, range(1, 11))
    state = {"model": get_model_state_dict(model), "rng": torch.get_rng_state()}
    dcp.save(state, checkpoint_id="checkpoint")  # error: [FSDP712]
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree("checkpoint")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
