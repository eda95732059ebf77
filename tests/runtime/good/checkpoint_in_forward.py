"""Activation checkpointing that the model itself asks for: torch.utils.checkpoint inside forward."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.w1 = nn.Linear(dim, 3 * dim, bias=False)
        self.w2 = nn.Linear(3 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.w2(F.silu(self.w1(self.norm(x))))


class Backbone(nn.Module):
    def __init__(self, vocab, dim, depth, gradient_checkpointing=True):
        super().__init__()
        self.gradient_checkpointing = gradient_checkpointing
        self.wte = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([FeedForward(dim) for _ in range(depth)])
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        hidden = self.wte(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden = checkpoint(layer, hidden, use_reentrant=False)
            else:
                hidden = layer(hidden)
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
        return {"loss": loss, "logits": logits}


class Stream(torch.utils.data.IterableDataset):
    """Numbers of this rank only."""

    def __init__(self, rank, vocab):
        self.rank, self.vocab = rank, vocab

    def __iter__(self):
        generator = torch.Generator().manual_seed(1 + self.rank)
        while True:
            ids = torch.randint(self.vocab, (5,), generator=generator)
            yield {"input_ids": ids[:-1], "labels": ids[1:]}


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = Backbone(vocab=20, dim=8, depth=3)
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=True)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loader = iter(torch.utils.data.DataLoader(Stream(rank, 20), batch_size=4))

    model.train()
    for step in range(5):
        outputs = model(**next(loader))
        outputs["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(step, repr(outputs["loss"].item()))

    full = [parameter.full_tensor().detach() for parameter in model.parameters()]
    if rank == 0:
        digest = hashlib.blake2b(b"".join(each.flatten().view(torch.uint8).numpy().tobytes() for each in full))
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
