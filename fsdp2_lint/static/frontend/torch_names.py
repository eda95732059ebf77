"""Torch's names: one public name for each object, whatever path it was imported by."""

from __future__ import annotations

import re

_MOVED = [
    (r"torch\.distributed\._composable\.fsdp\.fully_shard\.(\w+)$", r"torch.distributed.fsdp.\1"),
    (r"torch\.distributed\._composable\.fsdp(\.|$)", r"torch.distributed.fsdp\1"),
    (r"torch\.distributed\.fsdp\._fully_shard(\.\w+)*\.(\w+)$", r"torch.distributed.fsdp.\2"),
    (r"torch\.distributed\.fsdp\.(?:api|fully_sharded_data_parallel)\.(\w+)$", r"torch.distributed.fsdp.\1"),
    (r"torch\.distributed\.(?:init_device_mesh|DeviceMesh)$", None),
    (r"torch\.distributed\.(?:distributed_c10d|c10d_logger|_functional_collectives)\.(\w+)$", r"torch.distributed.\1"),
    (r"torch\.distributed\.(?:_tensor|tensor\._api|_tensor\.api)\.(\w+)$", r"torch.distributed.tensor.\1"),
    (r"torch\.distributed\.checkpoint\.state_dict_(?:saver|loader)\.(\w+)$", r"torch.distributed.checkpoint.\1"),
    (r"torch\.nn\.modules\.(?:\w+\.)?([A-Z]\w+)$", r"torch.nn.\1"),
    (r"torch\.nn\.parallel\.distributed\.(\w+)$", r"torch.nn.parallel.\1"),
    (r"torch\.nn\.utils\.clip_grad\.(\w+)$", r"torch.nn.utils.\1"),
    (r"torch\.optim\.(?!lr_scheduler|swa_utils)[a-z_]\w*\.([A-Z]\w+)$", r"torch.optim.\1"),
    (r"torch\.(?:_C\.)?_distributed_c10d\.(\w+)$", r"torch.distributed.\1"),
]  # fmt: skip
_RULES = [(re.compile(pattern), to) for pattern, to in _MOVED]


def canonical(qname: str) -> str:
    if not qname.startswith("torch."):
        return qname
    for pattern, to in _RULES:
        if to is None:
            if pattern.match(qname):
                return qname.replace("torch.distributed.", "torch.distributed.device_mesh.")
        elif pattern.match(qname):
            return pattern.sub(to, qname)
    return qname


def is_torch(module: str) -> bool:
    """May it be a module of torch, by its name?"""
    return module.startswith("torch")
