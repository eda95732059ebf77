import torch
from torch import nn


class ConvStage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(8, cout)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class Stage(nn.Sequential):
    """A run of encoder layers at one resolution."""


class HybridViT(nn.Module):
    def __init__(self, width, heads, stages, layers_per_stage, classes):
        super().__init__()
        self.stem = nn.Sequential(
            ConvStage(3, width // 4), ConvStage(width // 4, width // 2), ConvStage(width // 2, width)
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.stages = nn.ModuleList(
            [Stage(*[EncoderLayer(width, heads) for _ in range(layers_per_stage)]) for _ in range(stages)]
        )
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, images):
        x = self.stem(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1).to(x.dtype), x], dim=1)
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.norm(x)[:, 0])
