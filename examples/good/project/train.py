"""A small FSDP2 project: entry point.

    torchrun --standalone --nproc-per-node 2 examples/good/project/train.py
    torchrun ... examples/good/project/train.py --epochs 8 --resume

It runs on GPUs (NCCL) or, without any, on CPUs (gloo). Read trainer.py next.
"""

import os

import torch
import torch.distributed as dist

from config import parse_config
from trainer import Trainer


def init_distributed() -> torch.device:
    """Join the job that torchrun started, and select the device of this process."""
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def main() -> None:
    config = parse_config()
    device = init_distributed()
    Trainer(config, device).train()
    # Leave together: a rank that exits early can take the others' connections with it.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
