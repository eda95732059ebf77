"""Samples text every other step through `generate`, registered as a forward method."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method


class GRULayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, x):
        return x + self.gru(self.norm(x))[0]


class CharModel(nn.Module):
    def __init__(self, vocab=20, dim=8, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([GRULayer(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def logits(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def forward(self, ids):
        return self.logits(ids)

    @torch.no_grad()
    def generate(self, prompt, new_tokens):
        ids = prompt
        for _ in range(new_tokens):
            ids = torch.cat([ids, self.logits(ids)[:, -1:].argmax(dim=-1)], dim=1)
        return ids


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(16)
    model = CharModel()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    register_fsdp_forward_method(model, "generate")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)

    generator = torch.Generator().manual_seed(2 * rank + 1)
    for step in range(6):
        start = torch.randint(20, (4, 1), generator=generator)
        ids = (start + torch.arange(9)) % 20
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}")
        if step % 2 == 1:
            model.eval()
            text = model.generate(torch.tensor([[rank, rank + 1]]), new_tokens=4)
            model.train()
            if rank == 0:
                print("sample", text.tolist())

    digest = hashlib.blake2b()
    for value in model.state_dict().values():
        digest.update(value.full_tensor().flatten().view(torch.uint8).numpy().tobytes())
    if rank == 0:
        print(digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
