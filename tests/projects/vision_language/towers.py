import torch
from torch import nn


class PreNormLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask=None):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.patch = nn.Conv2d(3, cfg.vision_dim, cfg.patch, stride=cfg.patch)
        self.blocks = nn.ModuleList([PreNormLayer(cfg.vision_dim, cfg.vision_heads) for _ in range(cfg.vision_depth)])
        self.post_norm = nn.LayerNorm(cfg.vision_dim)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.post_norm(x)


class LanguageTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tokens = nn.Embedding(cfg.vocab, cfg.text_dim)
        self.layers = nn.ModuleList([PreNormLayer(cfg.text_dim, cfg.text_heads) for _ in range(cfg.text_depth)])
        self.norm = nn.LayerNorm(cfg.text_dim)
        self.lm_head = nn.Linear(cfg.text_dim, cfg.vocab, bias=False)

    def forward(self, prefix, ids):
        x = torch.cat([prefix, self.tokens(ids)], dim=1)
        size = x.shape[1]
        mask = torch.ones(size, size, dtype=torch.bool, device=x.device).triu(1)
        for layer in self.layers:
            x = layer(x, mask)
        return self.lm_head(self.norm(x[:, prefix.shape[1] :]))


class CaptionModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.vision = VisionTower(cfg)
        self.projector = nn.Sequential(
            nn.Linear(cfg.vision_dim, cfg.text_dim), nn.GELU(), nn.Linear(cfg.text_dim, cfg.text_dim)
        )
        self.lm = LanguageTower(cfg)

    def forward(self, images, ids):
        return self.lm(self.projector(self.vision(images)), ids)
