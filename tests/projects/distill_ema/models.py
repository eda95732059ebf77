import torch
from torch import nn


class Unit(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self, patch, dim, depth, out):
        super().__init__()
        self.stem = nn.Linear(patch, dim)
        self.units = nn.ModuleList([Unit(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, out, bias=False)

    def reset_parameters(self):
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.LayerNorm)):
                module.reset_parameters()

    def forward(self, patches):
        x = self.stem(patches)
        for unit in self.units:
            x = unit(x)
        return self.head(self.norm(x).mean(dim=1))


def build_encoder(args) -> Encoder:
    with torch.device("meta"):
        return Encoder(args.patch, args.dim, args.depth, args.out)
