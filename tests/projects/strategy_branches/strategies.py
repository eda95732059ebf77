"""One program, three ways to spread it: DDP, FSDP1 and FSDP2."""

import functools
from contextlib import nullcontext

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import (
    FullStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel as DDP

from net import GRUBlock


def wrap_model(model, strategy, mesh):
    if strategy == "ddp":
        return DDP(model.to("cuda"), device_ids=[torch.cuda.current_device()])
    elif strategy == "fsdp":
        return FSDP(
            model,
            auto_wrap_policy=ModuleWrapPolicy({GRUBlock}),
            mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
            device_id=torch.cuda.current_device(),
            use_orig_params=True,
        )
    elif strategy == "fsdp2":
        shard = functools.partial(
            fully_shard,
            mesh=mesh,
            mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
        )
        for stage in model.stages.values():
            shard(stage)
        shard(model)
        return model
    raise ValueError(f"unknown strategy {strategy}")


def accumulate(model, strategy, last):
    """Context for one micro-batch: gradients are only exchanged in the last one."""
    if strategy == "fsdp2":
        model.set_requires_gradient_sync(last)
        return nullcontext()
    return nullcontext() if last else model.no_sync()


def clip(model, strategy, max_norm):
    if strategy == "fsdp":
        return model.clip_grad_norm_(max_norm)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def full_state(model, strategy):
    if strategy == "ddp":
        return model.module.state_dict()
    if strategy == "fsdp":
        config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
            return model.state_dict()
    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
