"""Loss scaling: the gradients of fp16 vanish without it."""

import torch
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def make_scaler(wrapped):
    # a model that is wrapped by FSDP1 needs the scaler of FSDP1
    if wrapped:
        return ShardedGradScaler()
    return torch.amp.GradScaler("cuda")


class ScaledOptimizer:
    def __init__(self, optimizer, scaler, max_norm):
        self.optimizer = optimizer
        self.scaler = scaler
        self.max_norm = max_norm

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, parameters):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
