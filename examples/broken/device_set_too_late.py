"""The tokens go to the GPU before this process has selected its own GPU.

Until then the current GPU is number 0: the tokens of all ranks go there, while each model
goes to the GPU selected later. The first forward fails with "Expected all tensors to be on
the same device", except where the right GPU is number 0. Needs GPUs to run.
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


def load_tokens(rank: int) -> torch.Tensor:
    """The whole data of one rank: small enough to stay on the GPU."""
    return torch.randint(64, (20, 128), generator=torch.Generator().manual_seed(rank))


def main() -> None:
    dist.init_process_group("nccl")
    data = load_tokens(dist.get_rank()).cuda()  # error: [FSDP103]
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # related: [FSDP103]

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = AdamW(model.parameters(), lr=1e-2)

    for step, tokens in enumerate(data, start=1):
        loss = F.cross_entropy(model(tokens), (7 * tokens + 3) % 64)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
