"""The entry of a small project: model and configuration here, the loop in trainer.py."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from trainer import Trainer, TrainerConfig


class Expert(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.inner = nn.Linear(dim, 2 * dim)
        self.outer = nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(F.silu(self.inner(x)))


class Block(nn.Module):
    """Two experts that every token goes through, weighted by a gate."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Linear(dim, 2)
        self.experts = nn.ModuleList([Expert(dim), Expert(dim)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        weights = self.gate(h).softmax(dim=-1)
        return x + sum(weights[..., i : i + 1] * expert(h) for i, expert in enumerate(self.experts))


class Model(nn.Module):
    def __init__(self, vocab: int = 16, dim: int = 8, depth: int = 2) -> None:
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main() -> None:
    dist.init_process_group("gloo")
    try:
        config = TrainerConfig(steps=5, lr=1e-2, seed=99)
        trainer = Trainer(config, Model, block=Block)
        trainer.fit()
        trainer.report()
        dist.barrier()  # a rank that leaves early can take the others' connections with it
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
