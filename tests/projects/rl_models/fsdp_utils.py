import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def default_policy():
    return MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def shard_trainable(module, mesh):
    for layer in module.backbone.layers:
        fully_shard(layer, mesh=mesh, mp_policy=default_policy())
    fully_shard(module, mesh=mesh, mp_policy=default_policy())
    return module


def shard_frozen(module, mesh):
    """A model that is only read: one group, gathered for the forward and freed after it."""
    module.requires_grad_(False)
    module.eval()
    fully_shard(module, mesh=mesh, mp_policy=default_policy(), reshard_after_forward=True)
    return module


def gather_weights(module):
    return get_model_state_dict(module, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
