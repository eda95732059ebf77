"""Hybrid sharding: two replicas of two shards each, with a mesh of two named dimensions."""

import hashlib

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        return x + self.net(x)


class Regressor(nn.Module):
    def __init__(self, width=12, depth=2):
        super().__init__()
        self.stem = nn.Linear(6, width)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.blocks(self.stem(x)))


def apply_fsdp(model, mesh):
    for module in model.modules():
        if isinstance(module, Residual):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert isinstance(model, FSDPModule)
    return model


def batches(rank, count, size=8):
    generator = torch.Generator().manual_seed(17 + rank)
    target = torch.linspace(-1, 1, 6)
    for _ in range(count):
        x = torch.randn(size, 6, generator=generator)
        yield x, (x @ target).sin().unsqueeze(1)


def main():
    dist.init_process_group(backend="gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("replicate", "shard"))
    torch.manual_seed(1)
    model = apply_fsdp(Regressor(), mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    for step, (x, y) in enumerate(batches(rank, 6), start=1):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.SUM)
        mean /= world
        if rank == 0:
            print(f"{step}: {mean.item()!r}")

    digest = hashlib.blake2b()
    for _, weight in sorted(model.named_parameters()):
        digest.update(weight.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
