import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def init_distributed():
    """Bind this process to its GPU and join the job; returns the mesh for sharding."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    return init_device_mesh("cuda", (dist.get_world_size(),))


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def cleanup():
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
