"""A frozen, sharded teacher without optimizer; its student is trained on its logits."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class LM(nn.Module):
    def __init__(self, vocab, dim, depth):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def apply_fsdp2(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)


def build(vocab):
    torch.manual_seed(0)
    teacher = LM(vocab, dim=16, depth=3)
    teacher.requires_grad_(False)
    teacher.eval()
    student = LM(vocab, dim=8, depth=1)
    for model in (teacher, student):
        apply_fsdp2(model)
    return teacher, student


def distil(student_logits, teacher_logits, temperature=2.0):
    return temperature**2 * F.kl_div(
        F.log_softmax(student_logits / temperature, dim=-1).flatten(0, 1),
        F.log_softmax(teacher_logits / temperature, dim=-1).flatten(0, 1),
        reduction="batchmean",
        log_target=True,
    )


def main(vocab=18):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    teacher, student = build(vocab)
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-2)
    generator = torch.Generator().manual_seed(rank + 1)
    for step in range(5):
        ids = torch.randint(vocab, (4, 6), generator=generator)
        with torch.no_grad():
            target = teacher(ids)
        loss = distil(student(ids), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print("step", step, "loss", repr(loss.item()))

    digest = hashlib.blake2b()
    for model in (teacher, student):
        for value in model.state_dict().values():
            full = value.full_tensor() if isinstance(value, DTensor) else value
            digest.update(full.flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print("weights", digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
