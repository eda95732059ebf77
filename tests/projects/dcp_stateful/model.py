import torch
from torch import nn


class GatedConv(nn.Module):
    def __init__(self, dim, kernel):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.expand = nn.Linear(dim, 2 * dim)
        self.conv = nn.Conv1d(dim, dim, kernel, groups=dim, padding=kernel - 1)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        value, gate = self.expand(self.norm(x)).chunk(2, dim=-1)
        value = self.conv(value.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
        return x + self.out(value * torch.sigmoid(gate))

    def reset_parameters(self):
        for part in (self.norm, self.expand, self.conv, self.out):
            part.reset_parameters()


class ConvLM(nn.Module):
    def __init__(self, vocab, dim, depth, kernel=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([GatedConv(dim, kernel) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.unembedding = nn.Linear(dim, vocab, bias=False)

    def reset_parameters(self):
        nn.init.normal_(self.embedding.weight, std=0.02)
        for layer in self.layers:
            layer.reset_parameters()
        self.norm.reset_parameters()
        nn.init.normal_(self.unembedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.unembedding(self.norm(x))
