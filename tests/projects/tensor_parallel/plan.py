import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

BLOCK = {
    "attention.wq": ColwiseParallel(),
    "attention.wk": ColwiseParallel(),
    "attention.wv": ColwiseParallel(),
    "attention.wo": RowwiseParallel(),
    "up": ColwiseParallel(),
    "down": RowwiseParallel(),
}


def parallelize(model, mesh, recompute=True):
    """Tensor parallel first, then activation checkpointing, then FSDP2 over the data dimension."""
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], BLOCK)
    parallelize_module(model, mesh["tp"], {"head": ColwiseParallel(output_layouts=Replicate())})
    if recompute:
        for index, block in enumerate(model.blocks):
            model.blocks[index] = checkpoint_wrapper(block)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mesh=mesh["dp"], mp_policy=policy)
    fully_shard(model, mesh=mesh["dp"], mp_policy=policy)
    return model
