import torch
from torch import nn
from torch.nn import functional as F


def frequencies(dim: int, base: float, device=None) -> torch.Tensor:
    return base ** (-torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim)


class Rotary(nn.Module):
    def __init__(self, dim: int, base: float = 10_000.0):
        super().__init__()
        self.dim = dim
        self.base = base
        self.register_buffer("inv_freq", frequencies(dim, base), persistent=False)

    def restore(self, device):
        self.inv_freq = frequencies(self.dim, self.base, device)

    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[-2], device=x.device), self.inv_freq)
        cos, sin = angles.cos(), angles.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(dim)
        self.rotary = Rotary(dim // heads)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        batch, length, dim = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, self.heads, 3, -1).transpose(1, 2).unbind(3)
        q, k, v = parts
        mixed = F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, dim))

    def init_weights(self, std: float):
        self.norm.reset_parameters()
        for linear in (self.qkv, self.out):
            nn.init.trunc_normal_(linear.weight, std=std)


class Decoder(nn.Module):
    def __init__(self, vocab: int, dim: int, heads: int, depth: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.register_buffer("padding", torch.zeros(1, dtype=torch.long), persistent=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))

    def init_weights(self, std: float = 0.02):
        nn.init.normal_(self.embed.weight, std=std)
        for layer in self.layers:
            layer.init_weights(std)
        self.norm.reset_parameters()
        nn.init.normal_(self.head.weight, std=std)

    def restore_buffers(self, device):
        for layer in self.layers:
            layer.rotary.restore(device)
        self.padding = torch.zeros(1, dtype=torch.long, device=device)
