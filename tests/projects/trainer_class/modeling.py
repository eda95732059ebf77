from torch import nn


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, nhead=8, batch_first=True, dropout=0.0) for _ in range(layers)
        )

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return x


class CrossBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm_self = nn.LayerNorm(dim)
        self.self_attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm_cross = nn.LayerNorm(dim)
        self.cross_attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)
        )

    def forward(self, x, context):
        h = self.norm_self(x)
        x = x + self.self_attention(h, h, h, need_weights=False)[0]
        h = self.norm_cross(x)
        x = x + self.cross_attention(h, context, context, need_weights=False)[0]
        return x + self.feed_forward(x)


class VideoTransformer(nn.Module):
    def __init__(self, in_channels, dim, text_dim, heads, layers):
        super().__init__()
        self.proj_in = nn.Linear(in_channels, dim)
        self.text_proj = nn.Linear(text_dim, dim)
        self.transformer_blocks = nn.ModuleList([CrossBlock(dim, heads) for _ in range(layers)])
        self.proj_out = nn.Linear(dim, in_channels)

    def forward(self, latents, text):
        x = self.proj_in(latents)
        context = self.text_proj(text)
        for block in self.transformer_blocks:
            x = block(x, context)
        return self.proj_out(x)

    def embed(self, latents):
        return self.proj_in(latents)
