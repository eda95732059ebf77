"""A whole checkpoint: gathered by all ranks, written by rank 0, and loaded back into a new sharded model."""

import hashlib
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.inp = nn.Linear(3, dim)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.Tanh()) for _ in range(2))
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x)


def build():
    torch.manual_seed(19)
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def save(path, model, optimizer):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = {
        "model": get_model_state_dict(model, options=options),
        "optimizer": get_optimizer_state_dict(model, optimizer, options=options),
    }
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.barrier()


def load(path, model, optimizer):
    state = {"model": {}, "optimizer": {}}
    if dist.get_rank() == 0:
        state = torch.load(path, map_location="cpu", weights_only=True)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(model, state["model"], options=options)
    set_optimizer_state_dict(model, optimizer, state["optimizer"], options=options)


def train(model, optimizer, steps, generator):
    for step in steps:
        x = torch.randn(8, 3, generator=generator)
        loss = F.mse_loss(model(x), x.sort(dim=1).values)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item()!r}")


def main():
    dist.init_process_group("gloo")
    generator = torch.Generator().manual_seed(90 + dist.get_rank())
    model, optimizer = build()
    train(model, optimizer, range(3), generator)
    save(Path("full.pt"), model, optimizer)

    model, optimizer = build()
    load(Path("full.pt"), model, optimizer)
    train(model, optimizer, range(3, 7), generator)

    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    digest = hashlib.blake2b()
    for value in full.values():
        digest.update(value.flatten().view(torch.uint8).numpy().tobytes())
    if dist.get_rank() == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
