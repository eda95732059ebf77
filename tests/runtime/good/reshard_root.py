"""reshard_after_forward=True on the root as well: a forward never leaves anything gathered."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def block(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))


class Autoencoder(nn.Module):
    def __init__(self, features=9, dim=12):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.encoder = nn.ModuleList([block(dim), block(dim)])
        self.decoder = nn.ModuleList([block(dim)])
        self.out = nn.Linear(dim, features)

    def forward(self, x):
        x = self.inp(x)
        for part in [*self.encoder, *self.decoder]:
            x = x + part(x)
        return self.out(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(12)
    model = Autoencoder()
    kwargs = {"mesh": mesh, "reshard_after_forward": True}
    for part in list(model.encoder) + list(model.decoder):
        fully_shard(part, **kwargs)
    fully_shard(model, **kwargs)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    probe = torch.linspace(-1, 1, 9).repeat(2, 1) * (rank + 1)

    generator = torch.Generator().manual_seed(rank + 5)
    for step in range(5):
        x = torch.randn(8, 9, generator=generator)
        loss = F.smooth_l1_loss(model(x), x)
        loss.backward()
        with torch.no_grad():  # nothing stays gathered, so this is safe before the step
            probed = F.smooth_l1_loss(model(probe), probe)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step}: loss {loss.item()!r}, probe {probed.item()!r}")

    digest = hashlib.blake2b()
    for name, parameter in model.named_parameters():
        digest.update(name.encode() + parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
