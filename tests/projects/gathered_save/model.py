import torch
from torch import nn


class SpeechLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.ffn(x)


class SpeechEncoder(nn.Module):
    def __init__(self, mels, dim, heads, depth, symbols):
        super().__init__()
        self.frontend = nn.Linear(mels, dim)
        self.register_buffer("mean", torch.zeros(mels))
        self.layers = nn.ModuleList([SpeechLayer(dim, heads) for _ in range(depth)])
        self.ctc_head = nn.Linear(dim, symbols)

    def forward(self, features):
        x = self.frontend(features - self.mean.to(features.dtype))
        for layer in self.layers:
            x = layer(x)
        return self.ctc_head(x)
