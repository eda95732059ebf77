"""Optimizers of the project's own: one by elements of the shards, one on whole matrices, and norms that are reduced."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

VOCAB, DIM = 48, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Lion(torch.optim.Optimizer):
    """Works element by element, so each rank may look at its own shards."""

    def __init__(self, params, lr=3e-3, betas=(0.9, 0.99)):
        super().__init__(params, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            fast, slow = group["betas"]
            for parameter in group["params"]:
                local = parameter.grad.to_local()
                if local.numel() == 0:
                    continue
                average = self.state[parameter].setdefault("average", torch.zeros_like(local))
                update = average.lerp(local, 1 - fast).sign_()
                parameter.to_local().add_(update, alpha=-group["lr"])
                average.lerp_(local, 1 - slow)


class Muon(torch.optim.Optimizer):
    """Gathers each matrix before it makes it orthogonal."""

    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                x = parameter.grad.full_tensor()
                x = x / (x.norm() + 1e-7)
                for _ in range(3):
                    x = 1.5 * x - 0.5 * (x @ x.T) @ x
                own = x.chunk(dist.get_world_size())[dist.get_rank()]
                parameter.to_local().add_(own, alpha=-group["lr"])


def clip(parameters, largest):
    """By a norm that all ranks have put together."""
    squares = torch.stack([each.grad.to_local().square().sum() for each in parameters]).sum()
    dist.all_reduce(squares)
    norm = squares.sqrt().item()
    if norm > largest:
        for each in parameters:
            each.grad.to_local().mul_(largest / norm)
    return norm


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    model = Model()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    matrices = [each for each in model.blocks.parameters() if each.ndim == 2]
    known = {id(each) for each in matrices}
    others = [each for each in model.parameters() if id(each) not in known]
    optimizers = [Muon(matrices), Lion(others)]
    generator = torch.Generator().manual_seed(50 + rank)
    for step in range(5):
        tokens = torch.randint(VOCAB, (4, 9), generator=generator)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        norm = clip(list(model.parameters()), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r} norm {norm!r}", flush=True)

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
