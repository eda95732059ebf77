"""Embedding and head share one weight; both are left to the root's group."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class CausalMean(nn.Module):
    """Each token sees the mean of those before it."""

    def __init__(self, dim):
        super().__init__()
        self.ln = nn.LayerNorm(dim)
        self.mix = nn.Linear(2 * dim, dim)

    def forward(self, x):
        h = self.ln(x)
        count = torch.arange(1, x.size(1) + 1, dtype=x.dtype).view(1, -1, 1)
        return x + F.gelu(self.mix(torch.cat([h, h.cumsum(dim=1) / count], dim=-1)))


class GPT(nn.Module):
    def __init__(self, vocab=28, dim=16, length=10, depth=3):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab, dim),
                "wpe": nn.Embedding(length, dim),
                "h": nn.ModuleList([CausalMean(dim) for _ in range(depth)]),
                "ln_f": nn.LayerNorm(dim),
            }
        )
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)

    def forward(self, idx, targets):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_batch(generator, size=4, length=10):
    start = torch.randint(28, (size, 1), generator=generator)
    ids = (start + 3 * torch.arange(length + 1)) % 28
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1337)
    model = GPT()
    for block in model.transformer.h:
        fully_shard(block)
    fully_shard(model)
    assert model.transformer.wte.weight is model.lm_head.weight
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))

    generator = torch.Generator().manual_seed(1337 + rank)
    for step in range(5):
        x, y = get_batch(generator)
        _, loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if rank == 0:
            print(f"iter {step}: loss {loss.item()!r}")

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(f"hash {digest.hexdigest()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
