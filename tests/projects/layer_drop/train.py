import os
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from model import SpeechModel


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def shard(model, mesh):
    for layer in (model.speaker, *model.layers):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    # the same on all ranks: they must drop the same layers
    seed_everything(1)
    model = SpeechModel(dim=1024, depth=24, classes=500)
    shard(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    rows = 4096
    data = TensorDataset(
        torch.randn(rows, 200, 80), torch.randn(rows, 200, 80), torch.rand(rows) < 0.1, torch.randint(500, (rows,))
    )
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    for frames, reference, has_reference, labels in loader:
        logits = model(frames.cuda(), reference.cuda(), has_reference.cuda())
        loss = F.cross_entropy(logits, labels.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
