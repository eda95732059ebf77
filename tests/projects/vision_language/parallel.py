import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def start(replicas):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    shards = dist.get_world_size() // replicas
    if replicas > 1:
        return init_device_mesh("cuda", (replicas, shards), mesh_dim_names=("replicate", "shard"))
    return init_device_mesh("cuda", (shards,), mesh_dim_names=("shard",))


def shard_caption_model(core, mesh):
    settings = {
        "mesh": mesh,
        "mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    }
    for layer in list(core.vision.blocks) + list(core.lm.layers):
        fully_shard(layer, **settings)
    fully_shard(core.vision, **settings)
    fully_shard([core.lm.norm, core.lm.lm_head], **settings)
    fully_shard(core, **settings)
