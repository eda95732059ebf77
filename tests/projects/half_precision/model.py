from torch import nn


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.out(nn.functional.silu(self.gate(self.norm(x))))


class Tagger(nn.Module):
    def __init__(self, symbols, dim, depth, tags):
        super().__init__()
        self.embedding = nn.Embedding(symbols, dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.tags = nn.Linear(dim, tags)

    def forward(self, symbols):
        x = self.embedding(symbols)
        for layer in self.layers:
            x = layer(x)
        return self.tags(x)
