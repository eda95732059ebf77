import torch
from torch import nn


class GRUBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, width)
        self.candidate = nn.Linear(width, width)

    def forward(self, x):
        h = self.norm(x)
        z = torch.sigmoid(self.gate(h))
        return x + z * torch.tanh(self.candidate(h))


class SeriesModel(nn.Module):
    def __init__(self, channels, width, depth):
        super().__init__()
        self.inp = nn.Linear(channels, width)
        self.stages = nn.ModuleDict({f"stage{i}": GRUBlock(width) for i in range(depth)})
        self.out = nn.Linear(width, channels)

    def forward(self, series):
        h = self.inp(series)
        for stage in self.stages.values():
            h = stage(h)
        return self.out(h)
