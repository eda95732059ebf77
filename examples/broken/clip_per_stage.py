"""Two stages of a pipeline, each clipped by the norm of its own gradients.

clip_grad_norm_ knows the gradients that it is given, and those of the other stage are on other ranks. Each stage scales
its own by another factor, and nothing says so. Run it with two ranks or more.
"""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.optim import AdamW


class Block(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Part(nn.Module):
    """The layers of one stage: the first one has the embedding, the last one the head."""

    def __init__(self, first: bool, last: bool, dim: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, dim) if first else nn.Identity()
        self.layers = nn.ModuleList(Block(dim) for _ in range(layers))
        self.head = nn.Linear(dim, 64) if last else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def make_batch(step: int, mesh: DeviceMesh) -> tuple[torch.Tensor, torch.Tensor]:
    """Every pipeline draws its own tokens; the target of a token is fixed."""
    seed = step * mesh["dp"].size() + mesh["dp"].get_local_rank()
    tokens = torch.randint(64, (128, 4), generator=torch.Generator().manual_seed(seed))
    return tokens.to(mesh.device_type), ((7 * tokens + 3) % 64).to(mesh.device_type)


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def init_distributed() -> torch.device:
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def main() -> None:
    device = init_distributed()
    mesh = init_device_mesh(device.type, (2, dist.get_world_size() // 2), mesh_dim_names=("pp", "dp"))
    index = mesh["pp"].get_local_rank()
    torch.manual_seed(index)
    part = Part(first=index == 0, last=index == 1).to(device)
    for layer in part.layers:
        fully_shard(layer, mesh=mesh["dp"], reshard_after_forward=False)
    fully_shard(part, mesh=mesh["dp"])
    stage = PipelineStage(part, index, 2, device, group=mesh.get_group("pp"))  # related: [FSDP618]
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=loss_of)

    optimizer = AdamW(part.parameters(), lr=1e-2)
    for step in range(1, 21):
        tokens, targets = make_batch(step, mesh)
        losses: list[torch.Tensor] = []
        if stage.is_first:
            schedule.step(tokens)
        else:
            schedule.step(target=targets, losses=losses)
        torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)  # error: [FSDP618]
        optimizer.step()
        optimizer.zero_grad()
        if stage.is_last and mesh["dp"].get_local_rank() == 0:
            print(f"step {step}, loss {torch.stack(losses).mean().item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
