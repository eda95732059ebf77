"""An exponential moving average kept as a state dict of shards, and swapped in for evaluation."""

import hashlib
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.time = nn.Linear(1, dim)
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x, t):
        return x + self.fc2(F.silu(self.fc1(x) + self.time(t)))


class Denoiser(nn.Module):
    def __init__(self, features=4, dim=12, depth=2):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, features)

    def forward(self, x, t):
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, t)
        return self.out(h)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: value.clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.state_dict().items():
            self.shadow[name].mul_(self.decay).add_(value, alpha=1 - self.decay)

    @contextmanager
    def applied_to(self, model):
        backup = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(self.shadow)
        try:
            yield model
        finally:
            model.load_state_dict(backup)


def flow_loss(model, x, generator):
    t = torch.rand(x.size(0), 1, generator=generator)
    noise = torch.randn(x.shape, generator=generator)
    return F.mse_loss(model(t * x + (1 - t) * noise, t), x - noise)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(30)
    model = Denoiser()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    ema = EMA(model, decay=0.8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    generator = torch.Generator().manual_seed(300 + rank)
    for step in range(6):
        loss = flow_loss(model, torch.randn(8, 4, generator=generator) + 2, generator)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update(model)
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")
        if step % 3 == 2:
            with ema.applied_to(model), torch.no_grad():
                averaged = flow_loss(model, torch.full((4, 4), 2.0 + rank), generator)
            if rank == 0:
                print(f"step {step} averaged {averaged.item()!r}")

    digest = hashlib.blake2b()
    for value in [*model.state_dict().values(), *ema.shadow.values()]:
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
