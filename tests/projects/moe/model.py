import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_gather_tensor_autograd, reduce_scatter_tensor_autograd
from torch.distributed.tensor import DTensor


def local(weight):
    return weight.to_local() if isinstance(weight, DTensor) else weight


class Experts(nn.Module):
    """All experts of a layer; under expert parallelism a rank holds a slice of them."""

    def __init__(self, dim, hidden, num_experts):
        super().__init__()
        self.up = nn.Parameter(torch.empty(num_experts, dim, hidden))
        self.down = nn.Parameter(torch.empty(num_experts, hidden, dim))
        nn.init.normal_(self.up, std=dim**-0.5)
        nn.init.normal_(self.down, std=hidden**-0.5)

    def forward(self, x, gates):
        hidden = F.silu(torch.einsum("nd,edh->enh", x, local(self.up)))
        out = torch.einsum("enh,ehd->end", hidden, local(self.down))
        return torch.einsum("end,ne->nd", out, gates)


class MoE(nn.Module):
    def __init__(self, dim, hidden, num_experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.experts = Experts(dim, hidden, num_experts)
        self.ep_group = None

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        weights, chosen = self.router(x).softmax(dim=-1).topk(self.top_k, dim=-1)
        gates = torch.zeros(x.shape[0], self.router.out_features, dtype=x.dtype, device=x.device)
        gates = gates.scatter(1, chosen, weights.to(x.dtype))
        if self.ep_group is None:
            return self.experts(x, gates).view(shape)
        size, rank = self.ep_group.size(), self.ep_group.rank()
        everyone = all_gather_tensor_autograd(x, 0, self.ep_group)
        all_gates = all_gather_tensor_autograd(gates, 0, self.ep_group)
        partial = self.experts(everyone, all_gates.chunk(size, dim=1)[rank])
        return reduce_scatter_tensor_autograd(partial, "sum", 0, self.ep_group).view(shape)


class MoEBlock(nn.Module):
    def __init__(self, dim, heads, hidden, num_experts, top_k):
        super().__init__()
        self.attention_norm = nn.RMSNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, bias=False, batch_first=True)
        self.moe_norm = nn.RMSNorm(dim)
        self.moe = MoE(dim, hidden, num_experts, top_k)

    def forward(self, x):
        h = self.attention_norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.moe(self.moe_norm(x))


class MoETransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.layers = nn.ModuleDict()
        for i in range(cfg.layers):
            self.layers[str(i)] = MoEBlock(cfg.dim, cfg.heads, cfg.hidden, cfg.experts, cfg.top_k)
        self.norm = nn.RMSNorm(cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, tokens):
        h = self.tok(tokens)
        for layer in self.layers.values():
            h = layer(h)
        return self.out(self.norm(h))
