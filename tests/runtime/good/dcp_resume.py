"""Saves a distributed checkpoint half-way, and goes on from one, with as many ranks as there are."""

import argparse
import hashlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.step = model, optimizer, 0

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.step = state["step"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(7, 12)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12), nn.GELU()) for _ in range(2))
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def batch(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(8, 7, generator=generator)
    return x, x[:, :2].sin()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--until", type=int, default=8)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(21)
    model = Net()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    app = AppState(model, optimizer)
    if args.resume:
        dcp.load({"app": app}, checkpoint_id=args.folder)
        if rank == 0:
            print("resumed at", app.step)

    while app.step < args.until:
        app.step += 1
        x, y = batch(app.step, rank)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {app.step} loss {loss.item()!r}")
        if app.step == 4 and not args.resume:
            dcp.save({"app": app}, checkpoint_id=args.folder)

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print("weights", digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
