import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def transformer_layers(model):
    names = set(getattr(model, "_no_split_modules", None) or ())
    if not names:
        raise ValueError("the model does not say which modules must not be split")
    return [module for module in model.modules() if type(module).__name__ in names]


def shard_hf_model(model, mesh):
    mp_policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16,
        reduce_dtype=torch.float32,
        cast_forward_inputs=True,
    )
    fsdp_kwargs = {"mesh": mesh, "mp_policy": mp_policy}
    for layer in transformer_layers(model):
        fully_shard(layer, **fsdp_kwargs)
    fully_shard(model, **fsdp_kwargs)


def load_full_state(model, full_state):
    if dist.get_rank() != 0:
        model.to_empty(device="cuda")
    options = StateDictOptions(full_state_dict=True, cpu_offload=False, broadcast_from_rank0=True)
    set_model_state_dict(model, full_state, options=options)
    # rotary tables and the like are not part of the state dict
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
