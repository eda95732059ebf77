"""Each block is compiled in place, then sharded, then the root."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class TransformerBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.w1 = nn.Linear(dim, 2 * dim, bias=False)
        self.w2 = nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.w2(F.gelu(self.w1(self.norm(x))))


class Transformer(nn.Module):
    def __init__(self, vocab=16, dim=8, depth=2):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleDict({str(i): TransformerBlock(dim) for i in range(depth)})
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers.values():
            h = layer(h)
        return self.output(self.norm(h))


def apply_compile(model):
    for block in model.layers.values():
        block.compile(backend="eager", fullgraph=True)


def apply_fsdp(model):
    for block in model.layers.values():
        fully_shard(block)
    fully_shard([model.norm, model.output], reshard_after_forward=False)
    fully_shard(model)


def parallelize(model):
    apply_compile(model)
    apply_fsdp(model)
    return model


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(42)
    model = parallelize(Transformer())
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)

    generator = torch.Generator().manual_seed(rank)
    for step in range(1, 6):
        tokens = torch.randint(16, (2, 9), generator=generator)
        optimizer.zero_grad()
        pred = model(tokens[:, :-1])
        loss = F.cross_entropy(pred.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step: {step}  loss: {loss.item()!r}")

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(f"hash: {digest.hexdigest()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
