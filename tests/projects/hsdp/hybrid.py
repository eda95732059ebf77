import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

from net import Layer, Net


def hybrid_mesh():
    """Replicas across nodes, shards within each node."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    within = int(os.environ["LOCAL_WORLD_SIZE"])
    across = dist.get_world_size() // within
    return init_device_mesh("cuda", (across, within), mesh_dim_names=("replicate", "shard"))


def build(mesh, features, width, depth, classes):
    with torch.device("meta"):
        model = Net(features, width, depth, classes)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in model.modules():
        if isinstance(module, Layer):
            fully_shard(module, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device="cuda")
    # the same seed on every rank: replicas must start from the same weights
    torch.manual_seed(7)
    model.init_weights()
    return model


def accumulate(model: FSDPModule, last: bool):
    """Gradients are reduced within the node each time, and across nodes only for the last micro-batch."""
    model.set_requires_all_reduce(last)
    model.set_is_last_backward(last)
