"""A job whose source is right: what 9 rows come to on 8 ranks, only its rehearsal shows."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(65536, 9), nn.ReLU(), nn.Linear(9, 9)).cuda()
for layer in (model[0], model[2]):
    fully_shard(layer)
fully_shard(model)
model(torch.randn(4, 65536, device="cuda"))
