"""The trainer, in trainer.py, calls model.forward(x) instead of model(x).

The hooks that gather parameters run in the call of a module, not in forward. The first layer
meets a shard: "RuntimeError: aten.embedding.default got mixed torch.Tensor and DTensor".
"""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from model import Net
from parallelize import parallelize
from trainer import Trainer


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
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    parallelize(model, mesh)
    Trainer(model, device).train(steps=20)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
