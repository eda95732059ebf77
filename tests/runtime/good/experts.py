"""Expert parallelism: each rank of a mesh for experts has its own, sharded over the other dimension; tokens travel."""

import hashlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCAB, DIM, PARTS = 32, 16, 2


class Exchange(torch.autograd.Function):
    """The first half of the tokens goes to the first rank of the group, the second to the second."""

    @staticmethod
    def forward(context, x, group):
        context.group = group
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous(), group=group)
        return out

    @staticmethod
    def backward(context, gradient):
        out = torch.empty_like(gradient)
        dist.all_to_all_single(out, gradient.contiguous(), group=context.group)
        return out, None


class Expert(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.up = nn.Linear(DIM, 2 * DIM, bias=False)
        self.down = nn.Linear(2 * DIM, DIM, bias=False)
        generator = torch.Generator().manual_seed(100 + number)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class MoE(nn.Module):
    def __init__(self, number, group):
        super().__init__()
        self.experts = nn.ModuleDict({"own": Expert(number)})
        self.router = nn.Linear(DIM, 1)
        self.group = group

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights = torch.sigmoid(self.router(flat))
        computed = Exchange.apply(self.experts["own"](Exchange.apply(flat, self.group)), self.group)
        return x + (weights * computed).view_as(x)


class Block(nn.Module):
    def __init__(self, number, group):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.mixing = nn.Linear(DIM, DIM)
        self.moe = MoE(number, group)

    def forward(self, x):
        return self.moe(x + self.mixing(self.norm(x)))


class Model(nn.Module):
    def __init__(self, number, group):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Block(number, group) for _ in range(2))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    whole = init_device_mesh("cpu", (world,))
    mesh = init_device_mesh("cpu", (world // PARTS, PARTS), mesh_dim_names=("shard", "ep"))
    torch.manual_seed(1)
    model = Model(mesh.get_local_rank("ep"), mesh["ep"].get_group())
    for layer in model.layers:
        expert = fully_shard(layer.moe.experts["own"], mesh=mesh["shard"])
        expert.set_force_sum_reduction_for_comms(world > PARTS)  # gloo can divide in no other way
        expert.set_gradient_divide_factor(float(world))  # tokens of all ranks come to it
        fully_shard(layer, mesh=whole)
    fully_shard(model, mesh=whole)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    generator = torch.Generator().manual_seed(10 + rank)
    for step in range(5):
        tokens = torch.randint(VOCAB, (4, 9), generator=generator)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step} loss {loss.item()!r}", flush=True)

    digest = hashlib.blake2b()
    for parameter in model.parameters():
        digest.update(parameter.to_local().detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    print(digest.hexdigest(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
