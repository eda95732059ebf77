import os

import torch
import torch.distributed as dist


class Launch:
    def __init__(self):
        self.local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.local_rank)
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()

    @property
    def is_rank0(self):
        return self.rank == 0

    def log(self, message):
        if self.is_rank0:
            print(message, flush=True)
