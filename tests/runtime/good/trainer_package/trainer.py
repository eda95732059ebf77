"""A trainer that owns model, optimizer, scheduler and data."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


@dataclass(frozen=True)
class TrainerConfig:
    steps: int
    lr: float
    seed: int
    batch_size: int = 4
    length: int = 6
    max_norm: float = 1.0


class Trainer:
    def __init__(self, config: TrainerConfig, build: Callable[[], nn.Module], block: type[nn.Module]) -> None:
        self.config = config
        self.rank = dist.get_rank()
        self.mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("data",))
        self.model = self._build_model(build, block)
        self.optimizer = self._build_optimizer()
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, config.steps)

    def _build_model(self, build: Callable[[], nn.Module], block: type[nn.Module]) -> nn.Module:
        torch.manual_seed(self.config.seed)
        model = build()
        self._apply_fsdp(model, block)
        return model

    def _apply_fsdp(self, model: nn.Module, block: type[nn.Module]) -> None:
        for module in model.modules():
            if isinstance(module, block):
                fully_shard(module, mesh=self.mesh)
        fully_shard(model, mesh=self.mesh)

    def _build_optimizer(self) -> torch.optim.Optimizer:
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        plain = [p for p in self.model.parameters() if p.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=self.config.lr)

    def batches(self) -> Iterator[torch.Tensor]:
        generator = torch.Generator().manual_seed(self.config.seed + 1 + self.rank)
        while True:
            shape = (self.config.batch_size, self.config.length + 1)
            yield torch.randint(self.model.vocab, shape, generator=generator)

    def training_step(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def fit(self) -> None:
        for step, ids in zip(range(self.config.steps), self.batches()):
            loss = self.training_step(ids)
            self.log(f"step {step} loss {loss.item()!r}")

    def report(self) -> None:
        digest = hashlib.blake2b()
        for parameter in self.model.parameters():
            full = parameter.full_tensor().detach()
            digest.update(full.flatten().view(torch.uint8).numpy().tobytes())
        self.log(f"weights {digest.hexdigest()}")

    def log(self, text: str) -> None:
        if self.rank == 0:
            print(text, flush=True)
