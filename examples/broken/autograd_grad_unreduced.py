"""A weight of a loss is computed from the gradient at the last layer, with torch.autograd.grad.

FSDP2 reduces what backward() computes. torch.autograd.grad returns the gradient of this rank's batch, so the weight
differs from rank to rank, each rank trains with another loss, and nothing says so.
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


def main() -> None:
    device = init_distributed()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)  # related: [FSDP619]

    optimizer = AdamW(model.parameters(), lr=1e-2)
    for step in range(1, 21):
        tokens, targets = make_batch(step, device)
        logits = model(tokens)
        task, size = F.cross_entropy(logits, targets), logits.square().mean()
        last = model.head.weight
        (of_task,) = torch.autograd.grad(task, last, retain_graph=True)  # error: [FSDP619]
        (of_size,) = torch.autograd.grad(size, last, retain_graph=True)  # error: [FSDP619]
        balance = (of_task.norm() / of_size.norm()).detach()
        loss = task + 0.01 * balance * size
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
