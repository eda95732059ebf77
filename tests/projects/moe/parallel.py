import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Shard, distribute_tensor


@dataclass
class Meshes:
    dense: DeviceMesh
    expert: DeviceMesh


def init_meshes(ep_degree: int) -> Meshes:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    world_size = dist.get_world_size()
    dense = init_device_mesh("cuda", (world_size,), mesh_dim_names=("dp",))
    expert = init_device_mesh("cuda", (world_size // ep_degree, ep_degree), mesh_dim_names=("edp", "ep"))
    return Meshes(dense, expert)


def apply_ep(model, ep_mesh: DeviceMesh) -> None:
    for layer in model.layers.values():
        experts = layer.moe.experts
        for name, parameter in list(experts.named_parameters()):
            sliced = nn.Parameter(distribute_tensor(parameter.detach(), ep_mesh, [Shard(0)]))
            experts.register_parameter(name, sliced)
        layer.moe.ep_group = ep_mesh.get_group()


def apply_fsdp(model, meshes: Meshes) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers.values():
        # the experts see the tokens of every rank, so they are averaged over all of them
        fully_shard(layer.moe.experts, mesh=meshes.expert["edp"], mp_policy=policy)
        layer.moe.experts.set_gradient_divide_factor(float(meshes.dense.size()))
        fully_shard(layer, mesh=meshes.dense, mp_policy=policy)
    fully_shard(model, mesh=meshes.dense, mp_policy=policy)


def parallelize_moe(model, meshes: Meshes):
    if meshes.expert["ep"].size() > 1:
        apply_ep(model, meshes.expert["ep"])
    apply_fsdp(model, meshes)
    return model
