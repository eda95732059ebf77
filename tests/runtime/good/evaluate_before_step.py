"""Logs the loss on a probe batch between backward and step, and frees the gathered root before the step."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=12, depth=2, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoders = nn.ModuleList([Encoder(dim) for _ in range(depth)])
        self.tags = nn.Linear(dim, tags)

    def forward(self, ids):
        x = self.embed(ids)
        for encoder in self.encoders:
            x = encoder(x)
        return self.tags(x)


def batch(seed):
    ids = torch.randint(20, (4, 6), generator=torch.Generator().manual_seed(seed))
    return ids, ids % 4


def loss_of(model, ids, tags):
    return F.cross_entropy(model(ids).flatten(0, 1), tags.flatten())


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(6)
    model = Tagger()
    for encoder in model.encoders:
        fully_shard(encoder)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    probe = batch(777 + rank)

    for step in range(5):
        loss = loss_of(model, *batch(step * world + rank))
        loss.backward()
        with torch.no_grad():
            before = loss_of(model, *probe)
        model.reshard()  # the step must not leave the next forward with the root's old weights
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r} probe {before.item()!r}")

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
