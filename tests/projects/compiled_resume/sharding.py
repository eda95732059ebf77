import torch
from torch.distributed.fsdp import fully_shard


def shard(network, mesh):
    for mixer in network.mixers:
        fully_shard(mixer, mesh=mesh)
    fully_shard(network, mesh=mesh)


def maybe_compiled(network, wanted):
    """The network as it is called; the one that was sharded stays what it is."""
    return torch.compile(network) if wanted else network
