"""A batch with tokens out of range on any rank is skipped by all of them, before the model sees it."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

VOCAB = 16


class OutOfRange(ValueError):
    """Some rank's batch has tokens that the vocabulary lacks."""


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(x)))


class Model(nn.Module):
    def __init__(self, dim=10, depth=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def validate(ids):
    """Raises on all ranks if it must on one."""
    largest = ids.max()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if largest.item() >= VOCAB:
        raise OutOfRange(f"token {largest.item()} of {VOCAB}")


def train_step(model, optimizer, ids):
    validate(ids)
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(55)
    model = Model()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)

    generator = torch.Generator().manual_seed(550 + rank)
    for step in range(7):
        ids = torch.randint(VOCAB, (4, 6), generator=generator)
        if step in (1, 4) and rank == step % 2:
            ids[0, 0] = VOCAB + step
        try:
            loss = train_step(model, optimizer, ids)
        except OutOfRange as error:
            if rank == 0:
                print(f"step {step} skipped: {error}")
            continue
        if rank == 0:
            print(f"step {step} loss {loss!r}")

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
