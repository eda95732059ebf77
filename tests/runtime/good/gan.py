"""Generator and discriminator, each sharded, each with its optimizer, trained in turns."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

LATENT, DATA, WIDTH = 4, 6, 12


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + F.leaky_relu(self.fc(self.norm(x)), 0.2)


class Stack(nn.Module):
    def __init__(self, inputs, outputs, depth=2):
        super().__init__()
        self.inp = nn.Linear(inputs, WIDTH)
        self.blocks = nn.ModuleList([Block(WIDTH) for _ in range(depth)])
        self.out = nn.Linear(WIDTH, outputs)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def shard(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def fingerprint(*models):
    digest = hashlib.blake2b()
    for model in models:
        for value in model.state_dict().values():
            digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(14)
    generator, discriminator = shard(Stack(LATENT, DATA)), shard(Stack(DATA, 1))
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.99))

    torch.manual_seed(14 + 100 * (rank + 1))
    for step in range(5):
        real = torch.randn(8, DATA).cumsum(dim=1)
        # The discriminator's turn.
        opt_d.zero_grad()
        with torch.no_grad():
            fake = generator(torch.randn(8, LATENT))
        loss_d = F.softplus(discriminator(fake)).mean() + F.softplus(-discriminator(real)).mean()
        loss_d.backward()
        opt_d.step()
        # The generator's turn.
        opt_g.zero_grad()
        loss_g = F.softplus(-discriminator(generator(torch.randn(8, LATENT)))).mean()
        loss_g.backward()
        opt_g.step()
        if rank == 0:
            print(f"step {step} d {loss_d.item()!r} g {loss_g.item()!r}")

    weights = fingerprint(generator, discriminator)
    if rank == 0:
        print("weights", weights)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
