import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def start():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.manual_seed(11)
    return init_device_mesh("cuda", (dist.get_world_size(),))


def shard_tagger(model, mesh, dtype=None):
    kwargs = {"mesh": mesh}
    if dtype is not None:
        kwargs["mp_policy"] = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    return fully_shard(model, **kwargs)


def batches(args):
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(args.steps):
        symbols = torch.randint(args.symbols, (args.batch, args.length), generator=generator)
        yield symbols.to("cuda"), torch.randint(args.tags, symbols.shape, generator=generator).to("cuda")
