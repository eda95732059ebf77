import os

import torch
import torch.distributed as dist


def get_rank() -> int:
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def get_world_size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def is_main_process() -> bool:
    return get_rank() == 0


def print_once(*message) -> None:
    if is_main_process():
        print(*message, flush=True)


def start() -> torch.device:
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return torch.device("cuda")


def stop() -> None:
    dist.barrier()
    dist.destroy_process_group()
