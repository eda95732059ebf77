"""Everything that knows about ranks, devices and sharding."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def setup_distributed(cpu_offload: bool) -> DeviceMesh:
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(local_rank)
    backend = "cpu:gloo,cuda:nccl" if cpu_offload else "nccl"
    dist.init_process_group(backend)
    return init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))


def apply_fsdp(model, mesh, param_dtype="bf16", reshard="default", cpu_offload=False):
    """Shard every block, then the model itself.  Works in place."""
    fsdp_kwargs = {"mesh": mesh}
    fsdp_kwargs["mp_policy"] = MixedPrecisionPolicy(
        param_dtype=DTYPES[param_dtype],
        reduce_dtype=torch.float32,
    )
    if cpu_offload:
        fsdp_kwargs["offload_policy"] = CPUOffloadPolicy()

    block_kwargs = dict(fsdp_kwargs)
    if reshard == "always":
        block_kwargs["reshard_after_forward"] = True

    last = len(model.blocks) - 1
    for index, block in enumerate(model.blocks):
        if index == last:
            # the last block is needed again at once in backward
            fully_shard(block, **{**block_kwargs, "reshard_after_forward": False})
        else:
            fully_shard(block, **block_kwargs)
    fully_shard(model, **fsdp_kwargs)


def shutdown():
    if dist.is_initialized():
        dist.destroy_process_group()
