"""A two-sided contrastive model that is trained through `encode`, registered as a forward method."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + F.gelu(self.fc(self.norm(x)))


class Embedder(nn.Module):
    def __init__(self, vocab=30, dim=12, depth=2, out=6):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.project = nn.Linear(dim, out)
        self.logit_scale = nn.Parameter(torch.full((1,), 1.5))

    def encode(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return F.normalize(self.project(x.mean(dim=1)), dim=-1)

    def forward(self, left, right):
        scores = self.logit_scale.exp() * self.encode(left) @ self.encode(right).T
        labels = torch.arange(left.size(0))
        return 0.5 * (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels))


def pairs(generator, size=6):
    left = torch.randint(15, (size, 4), generator=generator)
    return left, left + 15


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(33)
    model = Embedder()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    register_fsdp_forward_method(model, "encode")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    generator = torch.Generator().manual_seed(rank * 10 + 1)
    for step in range(6):
        left, right = pairs(generator)
        if step % 2:  # towards the other side's embedding, as a distance
            loss = (model.encode(left) - model.encode(right)).square().sum(dim=-1).mean()
        else:
            loss = model(left, right)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    with torch.no_grad():
        similarity = (model.encode(left) * model.encode(right)).sum(dim=-1).mean()
    model.reshard()
    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print("similarity", repr(similarity.item()))
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
