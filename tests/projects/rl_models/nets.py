import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.ln2(x))


class Backbone(nn.Module):
    def __init__(self, vocab, dim, heads, layers):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).triu(1)
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Policy(nn.Module):
    def __init__(self, vocab, dim, heads, layers):
        super().__init__()
        self.backbone = Backbone(vocab, dim, heads, layers)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.lm_head(self.backbone(ids))

    @torch.no_grad()
    def generate(self, prompt, new_tokens):
        ids = prompt
        for _ in range(new_tokens):
            logits = self(ids)[:, -1].float()
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return ids


class Critic(nn.Module):
    def __init__(self, vocab, dim, heads, layers):
        super().__init__()
        self.backbone = Backbone(vocab, dim, heads, layers)
        self.value_head = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.value_head(self.backbone(ids)).squeeze(-1)


def token_log_probs(logits, ids):
    return logits[:, :-1].float().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
