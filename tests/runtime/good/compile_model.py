"""The sharded model as a whole is compiled; the compiler breaks its graph where FSDP2's hooks are."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


class Net(nn.Module):
    def __init__(self, dim=10, depth=2):
        super().__init__()
        self.first = nn.Linear(5, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.last = nn.Linear(dim, 5)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def data(rank):
    generator = torch.Generator().manual_seed(31 * (rank + 1))
    while True:
        clean = torch.randn(8, 5, generator=generator)
        yield clean + 0.1 * torch.randn(8, 5, generator=generator), clean


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(9)
    model = Net()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    compiled = torch.compile(model, backend="eager")

    for step, (noisy, clean) in zip(range(5), data(rank)):
        loss = F.l1_loss(compiled(noisy), clean)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
