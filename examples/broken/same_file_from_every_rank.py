"""All ranks write the file for which only rank 0 has the weights.

Gathering with cpu_offload=True gives the state dict to rank 0 and an empty dict to all others. Without a test of the
rank they all write it to one file, and the last one wins: the file ends up empty or corrupt. torch.save belongs under
``if dist.get_rank() == 0``.
"""

import os
import shutil

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
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
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=whole)  # related: [FSDP714]
    os.makedirs("weights", exist_ok=True)
    torch.save(weights, "weights/last.pt")  # error: [FSDP714]
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree("weights")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
