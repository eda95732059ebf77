import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("fsdp",))


def shard_gpt(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i in range(len(model.blocks)):
        model.blocks[i] = fully_shard(model.blocks[i], mesh=mesh, mp_policy=policy)
    model = fully_shard(model, mesh=mesh, mp_policy=policy)
    return model
