"""Start-up helpers."""

import os

import torch
import torch.distributed as dist


def start_job() -> None:
    dist.init_process_group("nccl")


def select_device() -> None:
    """Make the GPU with this process's number on the node the current one."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
