"""Every second step ends with a loop over held-out batches, without gradients."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv1d(channels, channels, 3, padding=1)
        self.norm = nn.GroupNorm(2, channels)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.conv2(F.relu(self.norm(self.conv1(x)))))


class ConvNet(nn.Module):
    def __init__(self, channels=8, depth=2, classes=3):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 5, padding=2)
        self.stages = nn.ModuleList([Block(channels) for _ in range(depth)])
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.fc(x.mean(dim=-1))


def make(count, seed):
    generator = torch.Generator().manual_seed(seed)
    signal = torch.randn(count, 1, 16, generator=generator)
    return signal, signal.std(dim=-1).mul(3).long().clamp(0, 2).squeeze(1)


@torch.no_grad()
def evaluate(model, rank):
    model.eval()
    totals = torch.zeros(2)
    for index in range(2):
        x, y = make(8, 9000 + 10 * index + rank)
        logits = model(x)
        totals += torch.tensor([F.cross_entropy(logits, y, reduction="sum").item(), float(len(y))])
    dist.all_reduce(totals)
    model.train()
    return (totals[0] / totals[1]).item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(4)
    model = ConvNet()
    for stage in model.stages:
        fully_shard(stage)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    torch.manual_seed(40 + rank)
    for step in range(6):
        x, y = make(8, 100 * step + rank)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")
        if step % 2 == 1:
            held_out = evaluate(model, rank)
            if rank == 0:
                print(f"step {step} held-out loss {held_out!r}")

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        full = value.full_tensor() if isinstance(value, DTensor) else value
        digest.update(full.flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
