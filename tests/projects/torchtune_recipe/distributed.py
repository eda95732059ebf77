import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.distributed.tensor import distribute_tensor
from torch import nn


def get_shard_conditions(name, module, names_to_match=()):
    """Matches each numbered layer, and the modules that are asked for by name."""
    path = name.split(".")
    if len(path) >= 2 and path[-2] == "layers" and path[-1].isdigit():
        return True
    return name in names_to_match


def shard_model(model, shard_conditions, *, cpu_offload, reshard_after_forward=True, dp_mesh=None):
    kwargs = {"reshard_after_forward": reshard_after_forward, "mesh": dp_mesh}
    if cpu_offload:
        kwargs["offload_policy"] = CPUOffloadPolicy()
    sharded = 0
    for name, module in reversed(list(model.named_modules())):
        if any(condition(name, module) for condition in shard_conditions):
            fully_shard(module, **kwargs)
            sharded += 1
    if sharded == 0:
        raise ValueError("no layer matches the shard conditions")
    fully_shard(model, **kwargs)


def load_from_full_model_state_dict(model, full_state, device):
    """Each rank has the whole dict in host memory and keeps its own shards of it."""
    sharded_state = {}
    for name, parameter in model.state_dict().items():
        full = full_state[name].to(parameter.dtype).to(device)
        local = distribute_tensor(full, parameter.device_mesh, parameter.placements)
        sharded_state[name] = nn.Parameter(local)
    return model.load_state_dict(sharded_state, strict=True, assign=True)


def gather_cpu_state_dict(model, is_rank_zero):
    cpu_state = {}
    for name, parameter in model.state_dict().items():
        full = parameter.full_tensor()
        if is_rank_zero:
            cpu_state[name] = full.cpu()
    dist.barrier()
    return cpu_state
