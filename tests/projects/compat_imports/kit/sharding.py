import torch

from .compat import TORCH_RELEASE, FSDPModule, MixedPrecisionPolicy, fully_shard


def require_fsdp2():
    if fully_shard is None:
        raise RuntimeError(f"torch {TORCH_RELEASE} has no fully_shard")


def shard_once(module, **kwargs):
    if isinstance(module, FSDPModule):
        return module
    return fully_shard(module, **kwargs)


def shard_graph_net(net, mesh):
    require_fsdp2()
    kwargs = dict(mesh=mesh)
    kwargs.update(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    for _, layer in net.convs.items():
        shard_once(layer, **kwargs)
    shard_once(net, **kwargs)
    return net
