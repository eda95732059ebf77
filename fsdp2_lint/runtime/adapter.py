"""The one module that touches private names of torch.

What it needs it looks for by name, never by version. Where something is missing, :func:`missing`
says which clauses cannot be judged; everything else still can.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor as DTensor

try:
    from torch.distributed.fsdp import FSDPModule
except ImportError:  # torch 2.5 and older
    from torch.distributed._composable.fsdp import FSDPModule  # type: ignore[attr-defined]

_STATE_MODULES = (
    "torch.distributed.fsdp._fully_shard._fsdp_state",
    "torch.distributed._composable.fsdp._fsdp_state",
)
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

_API = next((sys.modules[name] for name in _API_MODULES if name in sys.modules), None)

# What is watched, and which clauses cannot be judged without it.
HOOKS: tuple[tuple[str, Any, str, tuple[str, ...]], ...] = (
    ("sharding", State, "init", ("FSDP302", "FSDP301", "FSDP303", "FSDP304", "FSDP601", "FSDP203", "FSDP315")),
    ("sharded", _API, "_init_param_group", ("FSDP203",)),
    ("first_forward", State, "_lazy_init", ("FSDP307", "FSDP314", "FSDP316", "FSDP320", "FSDP201", "FSDP204")),
    ("backward_end", State, "_root_post_backward_final_callback", ("FSDP318", "FSDP604")),
    ("gathering", ParamGroup, "wait_for_unshard", ("FSDP407", "FSDP602")),
    ("pre_backward", ParamGroup, "pre_backward", ("FSDP318",)),
    ("post_backward", ParamGroup, "post_backward", ("FSDP613",)),
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


def state_of(module: nn.Module) -> Any | None:
    """The state that ``fully_shard`` put into a module."""
    if not isinstance(module, FSDPModule):
        return None
    try:
        return module._get_fsdp_state()
    except (AttributeError, AssertionError):
        return None


def groups(state: Any) -> list[Group]:
    several = getattr(state, "_fsdp_param_groups", None)
    if several is None:
        one = getattr(state, "_fsdp_param_group", None)
        several = [] if one is None else [one]
    return [Group(each) for each in several]


def states_below(root: nn.Module) -> Iterator[Any]:
    """The states of the module and of all below it, each once, in the order of ``modules()``."""
    seen: set[int] = set()
    for module in root.modules():
        state = state_of(module)
        if state is not None and id(state) not in seen:
            seen.add(id(state))
            yield state


def modules_of(state: Any) -> tuple[nn.Module, ...]:
    return tuple(getattr(state, "_modules", ()))


def is_root(state: Any) -> bool | None:
    """None until the first forward decides."""
    return getattr(state, "_is_root", None)


def forward_is_running(state: Any) -> bool:
    return getattr(getattr(state, "_state_ctx", None), "iter_forward_root", None) is not None


def hooks_have_run(module: nn.Module) -> bool:
    """Is FSDP2 in the middle of a forward or backward of this very module?"""
    return getattr(getattr(state_of(module), "_training_state", None), "name", "") not in ("", "IDLE")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter that FSDP2 manages."""

    raw: Any

    @property
    def fqn(self) -> str:
        info = self.raw._module_info
        return str(getattr(self.raw, "_param_fqn", None) or info.param_name)

    @property
    def name(self) -> str:
        return str(self.raw._module_info.param_name)

    @property
    def module(self) -> nn.Module:
        module: nn.Module = self.raw._module_info.module
        return module

    @property
    def sharded(self) -> nn.Parameter:
        parameter: nn.Parameter = self.raw.sharded_param
        return parameter

    @property
    def gathered(self) -> nn.Parameter | None:
        """The temporary, full parameter; None before the first all-gather."""
        return getattr(self.raw, "_unsharded_param", None)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.raw._orig_size)

    @property
    def numel(self) -> int:
        return int(torch.Size(self.shape).numel())

    @property
    def has_gradient(self) -> bool:
        """Of this backward, before it is reduced."""
        gathered = self.gathered
        return (gathered is not None and gathered.grad is not None) or (
            getattr(self.raw, "unsharded_accumulated_grad", None) is not None
        )

    @property
    def gathered_storage(self) -> int:
        """Bytes that the gathered copy takes right now."""
        outputs = getattr(self.raw, "all_gather_outputs", None) or ()
        return sum(each.untyped_storage().size() for each in outputs)

    @property
    def current(self) -> torch.Tensor | None:
        """What is registered in its place right now."""
        return own_parameters(self.module).get(self.name)

    @property
    def planned(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The ranks of the mesh and the placements that sharding gave the parameter."""
        spec = self.raw._sharding_spec
        return ranks_of(spec.mesh), tuple(str(each) for each in spec.placements)


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters that are gathered and freed together."""

    raw: Any

    @property
    def fqn(self) -> str:
        """Its module's name below the root; empty for the root, and before the first forward."""
        return str(getattr(self.raw, "_module_fqn", None) or "")

    @property
    def params(self) -> list[Param]:
        return [Param(each) for each in self.raw.fsdp_params]

    @property
    def is_gathered(self) -> bool:
        return self._state == "UNSHARDED"

    @property
    def _state(self) -> str:
        return str(getattr(self.raw._sharded_state, "name", self.raw._sharded_state))

    @property
    def stays_gathered(self) -> bool:
        """Does it keep its parameters after forward?"""
        return not self.raw._reshard_after_forward

    @property
    def reduces_gradients(self) -> bool:
        return bool(self.raw.reduce_grads)

    @property
    def fills_in_gradients(self) -> bool:
        """Are missing gradients reduced as zeros?"""
        return bool(getattr(self.raw, "reduce_scatter_unused_params", False))

    @property
    def reshards_after_backward(self) -> bool:
        return bool(self.raw.reshard_after_backward)

    @property
    def has_just_gathered(self) -> bool:
        """Inside ``wait_for_unshard``: is there something to wait for?"""
        return getattr(self.raw, "_all_gather_result", None) is not None

    @property
    def mesh(self) -> Any:
        return self.raw.mesh_info.mesh

    @property
    def shards(self) -> int:
        """Over how many ranks one parameter is spread."""
        return int(getattr(self.raw.mesh_info, "shard_mesh_size", 1))

    @property
    def shard_rank(self) -> int:
        return int(getattr(self.raw.mesh_info, "shard_mesh_rank", 0))

    @property
    def replicated(self) -> bool:
        """Is it an HSDP group, of several replicas?"""
        return int(getattr(self.raw.mesh_info, "replicate_mesh_size", 1)) > 1

    @property
    def policies(self) -> dict[str, Any]:
        return {"mp_policy": self.raw.mp_policy, "offload_policy": self.raw.offload_policy}


def ranks_of(mesh: Any) -> tuple[int, ...]:
    return tuple(int(rank) for rank in mesh.mesh.flatten().tolist())


def call_of_fully_shard(frame: FrameType | None) -> Mapping[str, Any]:
    """The arguments of the ``fully_shard`` call that is being executed, from its frame; empty if it is not found."""
    while frame is not None:
        if frame.f_code.co_name == "fully_shard" and "module" in frame.f_code.co_varnames:
            values = frame.f_locals
            return {name: values[name] for name in ("module", "mesh", "ignored_params") if name in values}
        frame = frame.f_back
    return {}


def inputs_of_forward(frame: FrameType | None) -> tuple[Any, ...]:
    """What the root whose forward begins was called with, from the frame of its hook."""
    while frame is not None:
        if frame.f_code.co_name == "_root_pre_forward":
            return frame.f_locals.get("args", ()), frame.f_locals.get("kwargs", {})
        frame = frame.f_back
    return ()


def modules_that_are_called(frame: FrameType | None) -> list[nn.Module]:
    """The modules whose call is being executed, innermost first."""
    found: list[nn.Module] = []
    while frame is not None:
        if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl"):
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and not (found and found[-1] is module):
                found.append(module)
        frame = frame.f_back
    return found


def unwrapped(module: nn.Module) -> nn.Module:
    """What ``torch.compile`` wrapped."""
    inner = getattr(module, "_orig_mod", None)
    return inner if isinstance(inner, nn.Module) else module


def original_class(module: nn.Module) -> type:
    """The class that the user wrote; ``fully_shard`` puts one of its own in front."""
    cls = type(module)
    if isinstance(module, FSDPModule) and len(cls.__mro__) > 2:
        return cls.__mro__[getattr(cls, "_orig_cls_mro_index", 2)]
    return cls


def own_parameters(module: nn.Module) -> dict[str, nn.Parameter | None]:
    """What is registered on the module itself, as it is registered: nothing is looked up elsewhere."""
    return module._parameters


def own_buffers(module: nn.Module) -> dict[str, torch.Tensor | None]:
    return module._buffers


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor, without copying and without autograd."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor.detach()


def version(tensor: torch.Tensor) -> tuple[int, ...]:
    """How often it was written in place. A DTensor counts writes to itself; its local tensor, those past it."""
    try:
        own = tensor._version
        return (own, tensor._local_tensor._version) if isinstance(tensor, DTensor) else (own,)
    except RuntimeError:  # inference tensors keep no count
        return ()


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


def launched_rank() -> int:
    return int(os.environ.get("RANK", "0"))
