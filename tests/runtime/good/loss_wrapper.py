"""The sharded model sits in a plain module that computes the loss; that one is called."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x):
        return x + torch.tanh(self.query(x)) * torch.sigmoid(self.gate(x))


class Policy(nn.Module):
    def __init__(self, vocab=12, dim=10, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class PreferenceLoss(nn.Module):
    """No parameters of its own: not sharded."""

    def __init__(self, model, beta=0.5):
        super().__init__()
        self.model = model
        self.beta = beta
        self.register_buffer("offset", torch.tensor(0.1))

    def score(self, ids):
        log_probs = F.log_softmax(self.model(ids[:, :-1]), dim=-1)
        return log_probs.gather(-1, ids[:, 1:, None]).sum(dim=(1, 2))

    def forward(self, chosen, rejected):
        both = self.score(torch.cat([chosen, rejected]))
        good, bad = both.chunk(2)
        return -F.logsigmoid(self.beta * (good - bad - self.offset)).mean()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(25)
    policy = Policy()
    for block in policy.blocks:
        fully_shard(block)
    fully_shard(policy)
    criterion = PreferenceLoss(policy)
    optimizer = torch.optim.AdamW(criterion.parameters(), lr=1e-2)

    generator = torch.Generator().manual_seed(250 + rank)
    for step in range(5):
        start = torch.randint(12, (4, 1), generator=generator)
        chosen = (start + torch.arange(5)) % 12
        rejected = torch.randint(12, (4, 5), generator=generator)
        loss = criterion(chosen, rejected)
        loss.backward()
        nn.utils.clip_grad_norm_(criterion.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")

    digest = hashlib.blake2b()
    for parameter in policy.parameters():
        digest.update(parameter.full_tensor().detach().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
