"""bf16 for compute, fp32 for the reduction, the master weights and the optimizer."""

import hashlib
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor


@dataclass
class Config:
    features: int = 10
    dim: int = 16
    classes: int = 5
    depth: int = 3
    lr: float = 1e-2
    steps: int = 5


class Layer(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Linear(dim, 2 * dim)
        self.value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        return x + self.out(F.silu(self.gate(h)) * self.value(h))


class Classifier(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.stem = nn.Linear(cfg.features, cfg.dim)
        self.layers = nn.ModuleList([Layer(cfg.dim) for _ in range(cfg.depth)])
        self.head = nn.Linear(cfg.dim, cfg.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model: Classifier) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    root = MixedPrecisionPolicy(torch.bfloat16, torch.float32, output_dtype=torch.float32)
    fully_shard(model, mp_policy=root)


def main() -> None:
    cfg = Config()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    model = Classifier(cfg)
    shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, foreach=True)
    generator = torch.Generator().manual_seed(rank)
    for step in range(cfg.steps):
        inputs = torch.randn(16, cfg.features, generator=generator)
        labels = inputs[:, : cfg.classes].argmax(dim=1)
        optimizer.zero_grad()
        logits = model(inputs)
        assert logits.dtype == torch.float32
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step={step} loss={loss.item()!r}")
    assert all(p.dtype == torch.float32 and isinstance(p, DTensor) for p in model.parameters())
    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
