"""Gradient accumulation: the gradients are reduced in the last micro-batch of each step."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

MICRO_BATCHES = 3
STEPS = 5


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin1 = nn.Linear(dim, dim)
        self.lin2 = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.lin2(F.relu(self.lin1(x)))


class Net(nn.Module):
    def __init__(self, dim=14, depth=2):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def train_step(model, optimizer, micro_batches):
    optimizer.zero_grad()
    total = torch.zeros(())
    for index, (x, y) in enumerate(micro_batches):
        last = index == len(micro_batches) - 1
        model.set_requires_gradient_sync(last)
        loss = F.cross_entropy(model(x), y) / len(micro_batches)
        loss.backward()
        total += loss.detach()
    optimizer.step()
    return total


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Net()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    data = torch.randn(240, 4, generator=torch.Generator().manual_seed(8))
    dataset = torch.utils.data.TensorDataset(data, data.argmax(dim=1) % 3)
    sampler = torch.utils.data.distributed.DistributedSampler(dataset, num_replicas=world, rank=rank, seed=4)
    loader = torch.utils.data.DataLoader(dataset, batch_size=8, sampler=sampler, drop_last=True)
    sampler.set_epoch(0)
    source = iter(loader)
    for step in range(STEPS):
        loss = train_step(model, optimizer, [next(source) for _ in range(MICRO_BATCHES)])
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    digest = hashlib.blake2b(digest_size=20)
    for name, parameter in model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
