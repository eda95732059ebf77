from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())


class Part(nn.Module):
    """The layers of one pipeline stage; the first one has the embedding, the last one the head."""

    def __init__(self, vocab, dim, depth, first, last):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim) if first else nn.Identity()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab) if last else nn.Identity()

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
