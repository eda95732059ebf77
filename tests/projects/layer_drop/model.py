import random

import torch
import torch.distributed as dist
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.wide = nn.Linear(dim, 4 * dim)
        self.narrow = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(self.norm(x))))


class SpeechModel(nn.Module):
    """Drops layers while it trains, and adds what a speaker encoder says where a batch has a reference."""

    def __init__(self, dim, depth, classes):
        super().__init__()
        self.stem = nn.Linear(80, dim)
        self.speaker = Layer(dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, frames, reference, has_reference):
        x = self.stem(frames)
        wanted = has_reference.any().to(torch.int32)
        # one rank with a reference is enough for all to run the encoder
        dist.all_reduce(wanted, op=dist.ReduceOp.MAX)
        if wanted.item():
            x = x + self.speaker(self.stem(reference)) * has_reference[:, None, None]
        for layer in self.layers:
            if self.training and random.random() < 0.1:
                continue
            x = layer(x)
        return self.head(x.mean(dim=1))
