import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn_norm = nn.RMSNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, bias=False, batch_first=True)
        self.ffn_norm = nn.RMSNorm(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, 4 * dim, bias=False), nn.SiLU(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x, mask):
        h = self.attn_norm(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ffn(self.ffn_norm(x))


class CausalLM(nn.Module):
    def __init__(self, vocab, dim, heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.h = nn.ModuleList([Layer(dim, heads) for _ in range(n_layers)])
        self.ln_f = nn.RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool, device=ids.device).triu(1)
        x = self.wte(ids)
        for layer in self.h:
            x = layer(x, mask)
        return self.lm_head(self.ln_f(x))
