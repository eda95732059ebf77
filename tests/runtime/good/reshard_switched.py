"""set_reshard_after_forward and set_reshard_after_backward: parameters stay gathered over the micro-batches."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, dim)
        self.b = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.b(F.silu(self.a(x)))


class Net(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(3)])
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x).squeeze(-1)


def accumulate(model, batches):
    """Gather once, use for all micro-batches, free and reduce in the last one."""
    total = 0.0
    for number, (x, y) in enumerate(batches, start=1):
        last = number == len(batches)
        model.set_reshard_after_backward(last)
        model.set_requires_gradient_sync(last)
        loss = F.mse_loss(model(x), y) / len(batches)
        loss.backward()
        total += loss.item()
    return total


@torch.no_grad()
def evaluate(model, x, y):
    model.set_reshard_after_forward(True)  # also the root: nothing is left behind
    loss = F.mse_loss(model(x), y).item()
    model.set_reshard_after_forward(False)
    return loss


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(3)
    model = Net()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    model.set_reshard_after_forward(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    generator = torch.Generator().manual_seed(60 + rank)
    held_out = torch.randn(8, 4, generator=generator)
    for step in range(5):
        inputs = [torch.randn(8, 4, generator=generator) for _ in range(2)]
        loss = accumulate(model, [(x, x.prod(dim=1)) for x in inputs])
        optimizer.step()
        optimizer.zero_grad()
        evaluated = evaluate(model, held_out, held_out.prod(dim=1))
        if rank == 0:
            print(f"step {step} loss {loss!r} held-out {evaluated!r}")

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
