"""Explicit prefetching: lists of what to gather ahead, and an early unshard of the root."""

import hashlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import FSDPModule, fully_shard

AHEAD = 2


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class Transformer(nn.Module):
    def __init__(self, vocab=16, dim=8, depth=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(h)


def set_forward_prefetch(model):
    for i, layer in enumerate(model.layers):
        following = [model.layers[i + j] for j in range(1, AHEAD + 1) if i + j < len(model.layers)]
        if following:
            layer.set_modules_to_forward_prefetch(following)


def set_backward_prefetch(model):
    for i, layer in enumerate(model.layers):
        before = [model.layers[i - j] for j in range(1, AHEAD + 1) if i - j >= 0]
        if before:
            layer.set_modules_to_backward_prefetch(before)


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
    torch.manual_seed(0)
    model = Transformer()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    assert isinstance(model, FSDPModule)
    set_forward_prefetch(model)
    set_backward_prefetch(model)
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)

    generator = torch.Generator().manual_seed(rank)
    for step in range(5):
        model.unshard(async_op=True).wait() if step % 2 else model.unshard()
        x = torch.randint(16, (3, 7), generator=generator)
        loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        optim.step()
        optim.zero_grad()
        if rank == 0:
            print(f"{step=} loss={loss.item()!r}")

    with torch.no_grad():
        model.unshard()
        final = model(torch.arange(16).view(2, 8)).logsumexp(dim=-1).mean()
        model.reshard()
        for layer in model.layers:
            layer.reshard()
    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(f"final={final.item()!r}")
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
