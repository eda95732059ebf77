import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage

from stage import Part


def init_mesh(stages):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    return init_device_mesh("cuda", (stages, dist.get_world_size() // stages), mesh_dim_names=("pp", "dp"))


def shard_part(part, dp_mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.bfloat16)
    for block in part.blocks:
        # a schedule runs several micro-batches through a stage: its weights stay gathered between them
        fully_shard(block, mesh=dp_mesh, mp_policy=policy, reshard_after_forward=False)
    fully_shard(part, mesh=dp_mesh, mp_policy=policy)


def build_stage(mesh, cfg):
    index, count = mesh["pp"].get_local_rank(), mesh["pp"].size()
    torch.manual_seed(100 + index)
    part = Part(cfg.vocab, cfg.dim, cfg.depth // count, first=index == 0, last=index == count - 1)
    shard_part(part, mesh["dp"])
    part.to("cuda")
    stage = PipelineStage(part, index, count, torch.device("cuda"), group=mesh.get_group("pp"))
    return part, stage
