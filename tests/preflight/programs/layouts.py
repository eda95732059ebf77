"""One small model, sharded in the ways of the field: ``layouts.py LAYOUT``. It runs on GPUs where there are any."""

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH, WORDS = 24, 40


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class Experts(nn.Module):
    """Some of them on each rank; here all ranks ask their own ones only."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, WIDTH, WIDTH) / WIDTH)

    def forward(self, x):
        weight = self.weight.to_local() if isinstance(self.weight, DTensor) else self.weight
        return x + torch.einsum("bsd,edf->bsf", x, weight)


class Net(nn.Module):
    def __init__(self, experts: int = 0) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(3))
        self.experts = Experts(experts) if experts else nn.Identity()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.experts(x))


def shard(model: Net, layout: str, device: str) -> None:
    world = dist.get_world_size()
    options = {}
    if layout == "hsdp":
        options["mesh"] = init_device_mesh(device, (2, world // 2), mesh_dim_names=("replicate", "shard"))
    elif layout == "tp":
        mesh = init_device_mesh(device, (world // 2, 2), mesh_dim_names=("dp", "tp"))
        for layer in model.layers:
            parallelize_module(layer, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        options["mesh"] = mesh["dp"]
    elif layout == "experts":
        mesh = init_device_mesh(device, (world // 2, 2), mesh_dim_names=("outer", "ep"))
        spread = distribute_tensor(model.experts.weight.detach(), mesh["ep"], [Shard(0)])
        model.experts.weight = nn.Parameter(spread)
        fully_shard(model.experts, mesh=mesh["outer"], shard_placement_fn=lambda param: Shard(1))
        options["mesh"] = init_device_mesh(device, (world,))
    else:
        options["mesh"] = init_device_mesh(device, (world,))
    if layout == "int":
        options["reshard_after_forward"] = 2 if world > 2 else True
    if layout == "mixed":
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if layout == "tied":
        model.head.weight = model.embed.weight
    for layer in model.layers:
        fully_shard(layer, **options)
    fully_shard(model, **options)


def main(layout: str) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(0)
    model = Net(experts=4 if layout == "experts" else 0).to(device)
    shard(model, layout, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        tokens = torch.randint(WORDS, (2, 9), generator=generator).to(device)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        if layout not in ("tp", "experts"):  # torch clips parameters of one mesh at a time
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    local = [each.to_local() if isinstance(each, DTensor) else each for each in model.parameters()]
    print("held", sum(each.nbytes for each in local))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
