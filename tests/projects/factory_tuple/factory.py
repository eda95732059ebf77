from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from net import Denoiser


@dataclass
class Settings:
    channels: int
    width: int
    depth: int
    image: int
    batch: int
    steps: int
    lr: float
    warmup: int
    device: str = "cuda"


class Training(NamedTuple):
    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler


def empty_model(settings: Settings) -> Denoiser:
    with torch.device("meta"):
        return Denoiser(settings.channels, settings.width, settings.depth)


def shard_(model: Denoiser, mesh) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in [*model.down, *model.up]:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def materialise_(model: Denoiser, device: str) -> None:
    model.to_empty(device=device)
    with torch.no_grad():
        model.init_weights()


def create_training(settings: Settings, mesh) -> Training:
    model = empty_model(settings)
    shard_(model, mesh)
    materialise_(model, settings.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, 1.0, settings.warmup),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps - settings.warmup),
        ],
        milestones=[settings.warmup],
    )
    return Training(model, optimizer, scheduler)
