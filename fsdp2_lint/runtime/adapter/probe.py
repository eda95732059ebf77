"""Which of the places that are watched this torch has. They are looked for by name, never by version."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
import torch.distributed.checkpoint.state_dict
import torch.distributed.fsdp
from torch import nn
from torch.distributed.tensor import DTensor

from ...report.folders import attempt
from . import places
from .groups import states_below
from .meshes import without_root_mesh
from .modules import FSDPModule

_STATE_MODULES = ("torch.distributed.fsdp._fully_shard._fsdp_state", "torch.distributed._composable.fsdp._fsdp_state")
_API_MODULES = (
    "torch.distributed.fsdp._fully_shard._fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
)
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
_SAVER = sys.modules.get("torch.distributed.checkpoint.state_dict_saver")
_STATES = sys.modules.get("torch.distributed.checkpoint.state_dict")
_LOADER = sys.modules.get("torch.distributed.checkpoint.state_dict_loader")

# What is watched, and which rules cannot be judged without it.
HOOKS: tuple[tuple[str, Any, str, tuple[str, ...]], ...] = (
    ("sharding", State, "init", ("FSDP302", "FSDP301", "FSDP303", "FSDP304", "FSDP601", "FSDP203", "FSDP315")),
    ("sharded", ParamGroup, "__init__", ("FSDP203",)),
    (
        "first_forward",
        State,
        "_lazy_init",
        ("FSDP307", "FSDP314", "FSDP316", "FSDP320", "FSDP201", "FSDP204", "FSDP405", "FSDP910"),
    ),
    ("casting", State, "_cast_forward_inputs", ("FSDP505",)),
    ("backward_end", State, "_root_post_backward_final_callback", ("FSDP318", "FSDP604")),
    ("gathering", ParamGroup, "wait_for_unshard", ("FSDP407", "FSDP408", "FSDP602")),
    ("pre_backward", ParamGroup, "pre_backward", ("FSDP318",)),
    ("post_backward", ParamGroup, "post_backward", ("FSDP613", "FSDP910")),
    ("clipping", sys.modules.get("torch.nn.utils.clip_grad"), "_clip_grads_with_norm_", ("FSDP612",)),
    ("gather", _GROUPS, "foreach_all_gather", ("FSDP802",)),
    ("reduce", _GROUPS, "foreach_reduce", ("FSDP802",)),
    ("saving", _SAVER, "_save_state_dict", ("FSDP710", "FSDP712")),
    ("loading", _LOADER, "_load_state_dict", ("FSDP710",)),
)


def place(hook: str) -> tuple[Any, str] | None:
    """Where to watch, or None where this torch has no such place."""
    for name, owner, attribute, _ in HOOKS:
        if name == hook and owner is not None and hasattr(owner, attribute):
            return owner, attribute
    return None


# Functions of torch whose frames are read: of which the arguments, and for which rules.
FRAMES: tuple[tuple[str, Any, tuple[str, ...], tuple[str, ...]], ...] = (
    ("fully_shard", _private(_API_MODULES, "fully_shard"), ("module", "mesh"), ("FSDP311", "FSDP503")),
    ("_root_pre_forward", getattr(State, "_root_pre_forward", None), ("args", "kwargs"), ("FSDP808",)),
    ("_init_optim_state", getattr(_STATES, "_init_optim_state", None), (), ("FSDP601", "FSDP611")),
    ("_call_impl", nn.Module._call_impl, ("self",), ("FSDP401", "FSDP402")),
)


def missing() -> list[tuple[str, tuple[str, ...]]]:
    """What this torch does not have: (the name, the codes of the rules that are not judged)."""
    lacks = [
        (f"{getattr(owner, '__name__', 'FSDP2 state')}.{attribute}", codes)
        for name, owner, attribute, codes in HOOKS
        if place(name) is None
    ]
    lacks += [(f"arguments of {name}", codes) for name, function, of, codes in FRAMES if not _has_frame(function, of)]
    lacks += [(name, codes) for name, is_there, codes in _public() if not is_there]
    return [*lacks, *((str(each), each.rules) for each in without_root_mesh())]


def _public() -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Private names of what is public: (the name, whether it is there, the codes of the rules that need it)."""
    c10d: Any = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(c10d, "_world", None)
    yield "FSDPModule._get_fsdp_state", hasattr(FSDPModule, "_get_fsdp_state"), places.OF_PARAMS
    yield "DTensor._local_tensor", "_local_tensor" in {*DTensor.__annotations__, *dir(DTensor)}, places.OF_PARAMS
    yield "Module._non_persistent_buffers_set", hasattr(nn.Module(), "_non_persistent_buffers_set"), ("FSDP805",)
    yield "distributed_c10d._get_default_store", hasattr(c10d, "_get_default_store"), ("FSDP316",)
    yield "distributed_c10d._world.pg_group_ranks", hasattr(world, "pg_group_ranks"), ("FSDP802", "FSDP803")
    count = hasattr(dist.ProcessGroup, "_get_sequence_number_for_group")
    yield "ProcessGroup._get_sequence_number_for_group", count, ("FSDP803",)


def _has_frame(function: Any, arguments: Sequence[str]) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    return code is not None and set(arguments) <= {*code.co_varnames, *code.co_cellvars}


def lacking(model: nn.Module) -> list[tuple[str, tuple[str, ...]]]:
    """The same of the objects that FSDP2 made for a model: what they should have to be judged by."""
    return [(str(each), each.rules) for each in places.lacking(states_below(model))]


_rehearsal: list[str] = []


def rehearse(token: str) -> None:
    """From now on the other ranks of this job are not there: ``token`` is what its rehearsals have in common."""
    _rehearsal[:] = [token]


def rehearsal_token() -> str:
    """What the rehearsals of one job have in common; empty in a job whose ranks are there."""
    return _rehearsal[0] if _rehearsal else ""


def store() -> Any | None:
    """The key-value store of the default process group. A restarted job may get the one of its last attempt."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    get = getattr(c10d, "_get_default_store", None)
    if get is None or not dist.is_initialized() or rehearsal_token():
        return None
    return dist.PrefixStore(  # type: ignore[attr-defined]
        f"fsdp2_lint/{attempt()}", get()
    )


def first_cuda_use() -> tuple[Any, str] | None:
    """The function that torch calls when CUDA is used for the first time."""
    return (torch.cuda, "_lazy_init") if hasattr(torch.cuda, "_lazy_init") else None


def is_captured() -> bool:
    """Is a CUDA graph being captured? To copy anything from the device would spoil it.

    Asked before each look at values that may come in a later step: a graph is captured after steps that warm up. What
    runs when it is replayed is no Python, and not seen.
    """
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
