import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method


def shard_mixer(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    # evaluation embeds with this method instead of forward
    register_fsdp_forward_method(model, "encode")


def set_prefetch(layers, ahead):
    """Explicit prefetching: each layer asks for the next ones while it computes."""
    layers = list(layers)
    for i, layer in enumerate(layers):
        following = layers[i + 1 : i + 1 + ahead]
        if following:
            layer.set_modules_to_forward_prefetch(following)
        previous = layers[max(0, i - ahead) : i]
        if previous:
            layer.set_modules_to_backward_prefetch(previous[::-1])
