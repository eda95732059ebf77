"""Matrices go to one optimizer, vectors and embeddings to another, in groups of their own."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(self.norm(x))).square())


class Net(nn.Module):
    def __init__(self, vocab=16, dim=10, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def build_optimizers(model):
    matrices, vectors, embeddings = [], [], []
    for name, parameter in model.named_parameters():
        if "embed" in name or "head" in name:
            embeddings.append(parameter)
        elif parameter.ndim >= 2:
            matrices.append(parameter)
        else:
            vectors.append(parameter)
    adam_groups = [
        {"params": embeddings, "lr": 1e-2, "weight_decay": 0.1},
        {"params": vectors, "lr": 2e-2, "weight_decay": 0.0},
    ]
    return [
        torch.optim.SGD(matrices, lr=0.1, momentum=0.95, nesterov=True),
        torch.optim.AdamW(adam_groups, betas=(0.8, 0.95)),
    ]


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(70)
    model = Net()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizers = build_optimizers(model)

    generator = torch.Generator().manual_seed(71 + rank)
    for step in range(5):
        ids = torch.randint(16, (4, 7), generator=generator)
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(dims=(1,)).flatten())
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
