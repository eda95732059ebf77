import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def start():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl")
    return init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))


def options(mesh, bf16):
    kwargs = {"mesh": mesh}
    if bf16:
        kwargs["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return kwargs


def parallelize(model, mesh, bf16=True):
    kwargs = options(mesh, bf16)
    for block in model.blocks:
        fully_shard(block, **kwargs)
    fully_shard(model, **kwargs)
    if hasattr(model, "set_reshard_after_forward"):  # torch 2.8
        model.blocks[-1].set_reshard_after_forward(False)
    return model
