from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, dim, tokens):
        super().__init__()
        self.token_norm = nn.LayerNorm(dim)
        self.token_mix = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channel_norm = nn.LayerNorm(dim)
        self.channel_mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.token_mix(self.token_norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.channel_norm(x))


class Mixer(nn.Module):
    def __init__(self, inputs, dim, tokens, depth, embedding):
        super().__init__()
        self.stem = nn.Linear(inputs, dim)
        self.layers = nn.ModuleList([MixerBlock(dim, tokens) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.project = nn.Linear(dim, embedding)

    def features(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x).mean(dim=1)

    def encode(self, x):
        return nn.functional.normalize(self.features(x).float(), dim=-1)

    def forward(self, x):
        return self.project(self.features(x))
