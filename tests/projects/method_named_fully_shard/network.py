import math

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Modulated(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.modulation = nn.Linear(dim, 3 * dim)
        self.norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, x, cond):
        shift, scale, gate = self.modulation(cond).unsqueeze(1).chunk(3, dim=-1)
        h = self.norm(x) * (1 + scale) + shift
        h = self.attention(h, h, h, need_weights=False)[0]
        return x + gate * self.mlp(h)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.proj = nn.Linear(dim, dim)

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000.0) * torch.arange(half, device=t.device) / half)
        angles = t[:, None].float() * freqs
        return self.proj(torch.cat([angles.cos(), angles.sin()], dim=-1).to(t.dtype))


class LatentDiT(nn.Module):
    def __init__(self, channels, dim, heads, depth):
        super().__init__()
        self.x_embedder = nn.Linear(channels, dim)
        self.t_embedder = TimeEmbedding(dim)
        self.blocks = nn.ModuleList([Modulated(dim, heads) for _ in range(depth)])
        self.final = nn.Linear(dim, channels)

    def fully_shard(self, mesh, **fsdp_kwargs):
        """Shards the parts; the caller shards the network around them."""
        for i, block in enumerate(self.blocks):
            reshard = i < len(self.blocks) - 1
            fully_shard(block, mesh=mesh, reshard_after_forward=reshard, **fsdp_kwargs)
        fully_shard(self.final, mesh=mesh, reshard_after_forward=True, **fsdp_kwargs)

    def init_weights(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()
            elif isinstance(module, nn.MultiheadAttention):
                nn.init.normal_(module.in_proj_weight, std=0.02)
                nn.init.zeros_(module.in_proj_bias)
        nn.init.zeros_(self.final.weight)

    def forward(self, latents, t):
        x = self.x_embedder(latents)
        cond = self.t_embedder(t)
        for block in self.blocks:
            x = block(x, cond)
        return self.final(x)
