"""The states that ``fully_shard`` leaves in modules, and their groups of parameters."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .modules import FSDPModule, own_parameters


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
    def dimension(self) -> int:
        """Along which it is cut."""
        return int(getattr(getattr(self.raw, "fsdp_placement", None), "dim", 0))

    @property
    def planned(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The ranks of the mesh and the placements that sharding gave the parameter."""
        spec = self.raw._sharding_spec
        return ranks_of(spec.mesh), tuple(str(each) for each in spec.placements)


def fqns(params: Iterable[Any]) -> tuple[str, ...]:
    """The names of FSDP2's own parameter objects below their root. Asked for each collective, so it has to be quick."""
    return tuple([getattr(each, "_param_fqn", None) or each._module_info.param_name for each in params])


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
    def computes_in(self) -> torch.dtype | None:
        """The dtype of its gathered parameters, where they all have one."""
        own = {param.sharded.dtype for param in self.params}
        asked = getattr(self.raw.mp_policy, "param_dtype", None)
        return asked if asked is not None else own.pop() if len(own) == 1 else None

    @property
    def policies(self) -> dict[str, Any]:
        return {"mp_policy": self.raw.mp_policy, "offload_policy": self.raw.offload_policy}


Mesh = Any  # of torch.distributed, whatever it is called there
_ranks: weakref.WeakKeyDictionary[Any, tuple[int, ...]] = weakref.WeakKeyDictionary()


def ranks_of(mesh: Any) -> tuple[int, ...]:
    """The ranks of a mesh. It makes a tensor of them whenever it is asked, so it is asked once."""
    if mesh not in _ranks:
        _ranks[mesh] = tuple(int(rank) for rank in mesh.mesh.flatten().tolist())
    return _ranks[mesh]


def names_of(mesh: Any) -> tuple[str, ...]:
    """The names of a mesh's dimensions; none where it has no names."""
    return tuple(getattr(mesh, "mesh_dim_names", None) or ())


def whole_of(mesh: Any) -> Any:
    """The mesh that this one was sliced from; itself where it was not."""
    find = getattr(mesh, "_get_root_mesh", None)
    return find() if find is not None else mesh
