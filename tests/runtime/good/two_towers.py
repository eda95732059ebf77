"""Images of each rank are matched with class prompts that a shared seed samples: two towers, each its own root."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

CLASSES, SAMPLED, DIM = 20, 6, 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.fc1 = nn.Linear(DIM, 2 * DIM)
        self.fc2 = nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class ImageTower(nn.Module):
    def __init__(self, pixels=12, depth=2):
        super().__init__()
        self.patch = nn.Linear(pixels, DIM)
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])

    def forward(self, images):
        x = self.patch(images)
        for block in self.blocks:
            x = block(x)
        return F.normalize(x, dim=-1)


class TextTower(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.embed = nn.Embedding(CLASSES, DIM)
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])

    def forward(self, prompts):
        x = self.embed(prompts)
        for block in self.blocks:
            x = block(x)
        return F.normalize(x, dim=-1)


def shard(tower):
    for block in tower.blocks:
        fully_shard(block)
    return fully_shard(tower)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(81)
    images, text = shard(ImageTower()), shard(TextTower())
    optimizer = torch.optim.AdamW([*images.parameters(), *text.parameters()], lr=1e-2)

    shared = torch.Generator().manual_seed(0)  # the same classes are candidates on every rank
    own = torch.Generator().manual_seed(810 + rank)  # the images are not
    for step in range(5):
        candidates = torch.randperm(CLASSES, generator=shared)[:SAMPLED]
        labels = torch.randint(SAMPLED, (8,), generator=own)
        pixels = torch.randn(8, 12, generator=own) + candidates[labels, None] / CLASSES
        scores = 10 * images(pixels) @ text(candidates).T
        loss = F.cross_entropy(scores, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    digest = hashlib.blake2b()
    for parameter in [*images.parameters(), *text.parameters()]:
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
