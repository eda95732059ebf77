"""reshard_after_forward as a number: after forward the blocks go back to shards of two ranks, as within a node."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

RANKS_PER_NODE = 2


class MLPBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 4 * dim)
        self.proj = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.proj(F.gelu(self.fc(self.norm(x))))


class Model(nn.Module):
    def __init__(self, vocab=20, dim=8, depth=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([MLPBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def shard(model):
    for index, block in enumerate(model.blocks):
        # Backward begins with the last block: it may keep what it has gathered.
        last = index == len(model.blocks) - 1
        fully_shard(block, reshard_after_forward=False if last else RANKS_PER_NODE)
    fully_shard(model)
    return model


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(77)
    model = shard(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(700 + rank)
    for step in range(5):
        tokens = torch.randint(20, (4, 5), generator=generator)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(1, dims=1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(step, repr(loss.item()), flush=True)

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
