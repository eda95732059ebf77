"""Activation checkpointing by wrapping each block before it is sharded."""

import functools
import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.fsdp import fully_shard


class Mixer(nn.Module):
    def __init__(self, tokens: int, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.along = nn.Linear(tokens, tokens)
        self.across = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        h = self.along(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.drop(self.across(torch.tanh(h)))


class MixerNet(nn.Module):
    def __init__(self, tokens=4, dim=12, depth=3, classes=4):
        super().__init__()
        self.patch = nn.Linear(5, dim)
        self.blocks = nn.ModuleList([Mixer(tokens, dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))


def apply_ac(model):
    wrapper = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
    apply_activation_checkpointing(
        model, checkpoint_wrapper_fn=wrapper, check_fn=lambda module: isinstance(module, Mixer)
    )


def apply_fsdp(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(11)
    model = MixerNet()
    apply_ac(model)
    model = apply_fsdp(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    torch.manual_seed(11 + rank)
    for step in range(1, 5):
        images, labels = torch.randn(6, 4, 5), torch.randint(4, (6,))
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"[{step}] {loss.item()!r}")

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(f"[weights] {digest.hexdigest()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
