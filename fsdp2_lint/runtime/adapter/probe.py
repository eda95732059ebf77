"""Which of the places that are watched this torch has. They are looked for by name, never by version."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
import torch.distributed.fsdp

_STATE_MODULES = ("torch.distributed.fsdp._fully_shard._fsdp_state", "torch.distributed._composable.fsdp._fsdp_state")
_API_MODULES = ("torch.distributed.fsdp._fully_shard._fully_shard",)
_GROUP_MODULES = (
    "torch.distributed.fsdp._fully_shard._fsdp_param_group",
    "torch.distributed._composable.fsdp._fsdp_param_group",
)


def _private(modules: Sequence[str], name: str) -> Any:
    for module in modules:
        if found := getattr(sys.modules.get(module), name, None):
            return found
    return None


State: Any = _private(_STATE_MODULES, "FSDPState")
ParamGroup: Any = _private(_GROUP_MODULES, "FSDPParamGroup")

_GROUPS: Any = next((sys.modules[name] for name in _GROUP_MODULES if name in sys.modules), None)
_API = next((sys.modules[name] for name in _API_MODULES if name in sys.modules), None)

_SAVER = sys.modules.get("torch.distributed.checkpoint.state_dict_saver")
_LOADER = sys.modules.get("torch.distributed.checkpoint.state_dict_loader")

# What is watched, and which clauses cannot be judged without it.
HOOKS: tuple[tuple[str, Any, str, tuple[str, ...]], ...] = (
    ("sharding", State, "init", ("FSDP302", "FSDP301", "FSDP303", "FSDP304", "FSDP601", "FSDP203", "FSDP315")),
    ("sharded", _API, "_init_param_group", ("FSDP203",)),
    (
        "first_forward",
        State,
        "_lazy_init",
        ("FSDP307", "FSDP314", "FSDP316", "FSDP320", "FSDP201", "FSDP204", "FSDP405"),
    ),
    ("backward_end", State, "_root_post_backward_final_callback", ("FSDP318", "FSDP604")),
    ("gathering", ParamGroup, "wait_for_unshard", ("FSDP407", "FSDP602")),
    ("pre_backward", ParamGroup, "pre_backward", ("FSDP318",)),
    ("post_backward", ParamGroup, "post_backward", ("FSDP613",)),
    ("clipping", sys.modules.get("torch.nn.utils.clip_grad"), "_clip_grads_with_norm_", ("FSDP612",)),
    ("gather", _GROUPS, "foreach_all_gather", ("FSDP802",)),
    ("reduce", _GROUPS, "foreach_reduce", ("FSDP802",)),
    ("saving", _SAVER, "_save_state_dict", ("FSDP710",)),
    ("loading", _LOADER, "_load_state_dict", ("FSDP710",)),
)


def place(hook: str) -> tuple[Any, str] | None:
    """Where to watch, or None where this torch has no such place."""
    for name, owner, attribute, _ in HOOKS:
        if name == hook and owner is not None and hasattr(owner, attribute):
            return owner, attribute
    return None


def missing() -> list[tuple[str, tuple[str, ...]]]:
    """What this torch does not have: (the name, the codes of the clauses that are not judged)."""
    return [
        (f"{getattr(owner, '__name__', 'FSDP2 state')}.{attribute}", codes)
        for name, owner, attribute, codes in HOOKS
        if place(name) is None
    ]


def store() -> Any | None:
    """The key-value store of the default process group."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    get = getattr(c10d, "_get_default_store", None)
    if get is None or not dist.is_initialized():
        return None
    return dist.PrefixStore(  # type: ignore[attr-defined]
        "fsdp2_lint", get()
    )


def first_cuda_use() -> tuple[Any, str] | None:
    """The function that torch calls when CUDA is used for the first time."""
    return (torch.cuda, "_lazy_init") if hasattr(torch.cuda, "_lazy_init") else None


def is_captured() -> bool:
    """Is a CUDA graph being captured? To copy anything from the device would spoil it."""
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def own_rank() -> int:
    """This process's rank: as it was launched, or as the process group has it where nothing launched it."""
    return int(os.environ.get("RANK") or (dist.get_rank() if dist.is_initialized() else 0))


def all_ranks() -> int:
    """How many ranks the job has."""
    return int(os.environ.get("WORLD_SIZE") or (dist.get_world_size() if dist.is_initialized() else 1))
