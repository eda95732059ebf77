import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def start():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")


def replicate(model):
    model = model.cuda()
    return DistributedDataParallel(model)
