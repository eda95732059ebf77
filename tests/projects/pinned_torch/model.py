import torch
from torch import nn


class RecurrentBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.cell = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        return x + self.out(self.cell(self.norm(x))[0])


class CharModel(nn.Module):
    def __init__(self, symbols, dim, depth):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim)
        self.blocks = nn.ModuleList([RecurrentBlock(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, symbols, bias=False)

    def forward(self, symbols):
        x = self.embed(symbols)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, symbols):
    logits = model(symbols[:, :-1]).float()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), symbols[:, 1:].flatten())
