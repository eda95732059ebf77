"""Built on the meta device, sharded, then materialised: weights drawn, rotary tables computed again."""

import hashlib
import os
import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

warnings.filterwarnings("ignore", message="DTensor random operators")


class Attention(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.heads, self.dim, self.length = heads, dim, length
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)
        self.register_buffer("cos", self.angles().cos(), persistent=False)
        self.register_buffer("sin", self.angles().sin(), persistent=False)

    def angles(self):
        half = self.dim // self.heads // 2
        rates = 100.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        return torch.outer(torch.arange(self.length, dtype=torch.float32), rates)

    def reset_buffers(self):
        device = self.cos.device
        self.cos = self.angles().cos().to(device)
        self.sin = self.angles().sin().to(device)

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], dim=-1)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        return x + self.proj(out.transpose(1, 2).reshape(batch, length, dim))


class Decoder(nn.Module):
    def __init__(self, vocab=24, dim=16, heads=2, length=6, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleDict({str(i): Attention(dim, heads, length) for i in range(depth)})
        self.head = nn.Linear(dim, vocab, bias=False)

    def init_weights(self):
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, std=0.1)
            elif isinstance(module, Attention):
                module.reset_buffers()

    def forward(self, tokens):
        x = self.tok(tokens)
        for layer in self.layers.values():
            x = layer(x)
        return self.head(x)


def main():
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    with torch.device("meta"):
        model = Decoder()
    for layer in model.layers.values():
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    torch.manual_seed(3 + rank)  # on the CPU each rank draws its shards from a generator of its own
    with torch.no_grad():
        model.init_weights()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)

    generator = torch.Generator().manual_seed(100 + rank)
    for step in range(5):
        tokens = torch.randint(24, (3, 7), generator=generator)
        loss = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print("loss", step, repr(loss.item()))
    weights = [value.full_tensor().flatten() for value in model.state_dict().values()]
    digest = hashlib.blake2b(b"".join(each.view(torch.uint8).numpy().tobytes() for each in weights))
    if rank == 0:
        print("hash", digest.hexdigest())
    dist.barrier()
    dist.destroy_process_group()


main()
