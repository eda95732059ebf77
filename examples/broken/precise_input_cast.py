"""Time steps go into a sharded model as floating-point numbers, and its policy computes in bf16.

The policy casts each floating-point input of the module: 999 arrives as 1000, 513 as 512, and of a
thousand steps 507 are left. Pass the steps as integers, and convert them inside the model.
"""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
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


class Denoiser(nn.Module):
    def __init__(self, dim: int = 32, layers: int = 3) -> None:
        super().__init__()
        rates = 10_000.0 ** (-torch.arange(dim // 2) / (dim // 2))
        self.register_buffer("rates", rates, persistent=False)
        self.enter = nn.Linear(dim, dim)
        self.layers = nn.ModuleList(Block(dim) for _ in range(layers))
        self.head = nn.Linear(dim, dim)

    def forward(self, noisy: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        angles = step[:, None].float() * self.rates
        times = torch.cat([angles.sin(), angles.cos()], dim=-1)
        x = self.enter(noisy) + times.to(noisy.dtype)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model: Denoiser) -> None:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)  # warning: [FSDP505]


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Denoiser()
    shard(model)
    optimizer = AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(10):
        clean = torch.randn(16, 32, generator=generator)
        noise = torch.randn(16, 32, generator=generator)
        step = torch.randint(1000, (16,), generator=generator).float()
        share = (step / 1000)[:, None]
        loss = F.mse_loss(model((1 - share) * clean + share * noise, step).float(), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
