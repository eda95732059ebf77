"""The states that ``fully_shard`` leaves in modules, and their groups of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from . import places
from .meshes import ranks_of
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
    found = places.GROUPS.read(state)
    several = found if isinstance(found, list) else [] if found is None else [found]
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
    return tuple(places.MODULES.read(state))


def is_root(state: Any) -> bool | None:
    """None until the first forward decides."""
    answer: bool | None = places.IS_ROOT.read(state)
    return answer


def forward_is_running(state: Any) -> bool:
    return places.FORWARD_ROOT.read(places.CONTEXT.read(state)) is not None


def hooks_have_run(module: nn.Module) -> bool | None:
    """Is FSDP2 in the middle of a forward or backward of this very module? None where this torch does not say."""
    state = state_of(module)
    if state is None:
        return False
    if not places.TRAINING.is_in(state):
        return None
    return bool(places.TRAINING.read(state).name != "IDLE")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter that FSDP2 manages."""

    raw: Any

    @property
    def fqn(self) -> str:
        return self.below_root or self.name  # without it names are shorter

    @property
    def below_root(self) -> str:
        """Its name below the root, empty before the first forward."""
        return str(getattr(self.raw, "_param_fqn", None) or "")

    @property
    def name(self) -> str:
        return str(places.OF_MODULE.read(self.raw).param_name)

    @property
    def module(self) -> nn.Module:
        module: nn.Module = places.OF_MODULE.read(self.raw).module
        return module

    @property
    def sharded(self) -> nn.Parameter:
        parameter: nn.Parameter = places.SHARD.read(self.raw)
        return parameter

    @property
    def gathered(self) -> nn.Parameter | None:
        """The temporary, full parameter; None before the first all-gather."""
        parameter: nn.Parameter | None = places.WHOLE.read(self.raw)
        return parameter

    @property
    def between(self) -> nn.Parameter | None:
        """What is registered from a forward to its backward where ``reshard_after_forward`` is a number of ranks."""
        return getattr(self.raw, "_sharded_post_forward_param", None)

    @property
    def copies(self) -> list[nn.Parameter]:
        """What stands in the place of the shards for a while: no optimizer may hold it."""
        return [each for each in (self.gathered, self.between) if each is not None]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(places.SIZE.read(self.raw))

    @property
    def numel(self) -> int:
        return int(torch.Size(self.shape).numel())

    @property
    def has_gradient(self) -> bool:
        """Of this backward, before it is reduced."""
        gathered = self.gathered
        return (gathered is not None and gathered.grad is not None) or self.accumulated is not None

    @property
    def accumulated(self) -> torch.Tensor | None:
        """Its gradient over some backwards, in the dtype in which it is to be reduced."""
        gradient: torch.Tensor | None = places.ACCUMULATED.read(self.raw)
        return gradient

    @property
    def gathered_storage(self) -> int:
        """Bytes that the gathered copy takes right now."""
        return sum(each.untyped_storage().size() for each in places.OUTPUTS.read(self.raw))

    @property
    def current(self) -> torch.Tensor | None:
        """What is registered in its place right now."""
        return own_parameters(self.module).get(self.name)

    @property
    def dimension(self) -> int:
        """Along which it is cut."""
        return int(places.PLACEMENT.read(self.raw).dim)

    @property
    def planned(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The ranks of the mesh and the placements that sharding gave the parameter."""
        spec = places.SPEC.read(self.raw)
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
        return [Param(each) for each in places.PARAMETERS.read(self.raw)]

    @property
    def is_gathered(self) -> bool:
        return self._state == "UNSHARDED"

    @property
    def holds_a_copy(self) -> bool:
        """Would the next forward use a copy of the shards that was made before: whole, or cut over fewer ranks?"""
        return self._state in ("UNSHARDED", "SHARDED_POST_FORWARD")

    @property
    def uses_a_copy(self) -> bool:
        """The same, or an all-gather of the shards that is under way."""
        return self.holds_a_copy or self.has_just_gathered

    @property
    def _state(self) -> str:
        return str(places.SHARDED_STATE.read(self.raw).name)

    @property
    def stays_gathered(self) -> bool:
        """Does it keep its parameters after forward?"""
        return not places.STAYS.read(self.raw)

    @property
    def keeps_a_copy(self) -> bool:
        """Does a forward leave one behind: the gathered parameters, or a cut over the ranks of a node?"""
        return self.stays_gathered or bool(getattr(self.raw, "_use_post_forward_mesh", False))

    @property
    def reduces_gradients(self) -> bool:
        return bool(places.REDUCES.read(self.raw))

    @property
    def fills_in_gradients(self) -> bool:
        """Are missing gradients reduced as zeros? A torch that has no word for it does not."""
        return bool(getattr(self.raw, "reduce_scatter_unused_params", False))

    @property
    def reshards_after_backward(self) -> bool:
        return bool(places.RESHARDS.read(self.raw))

    @property
    def has_just_gathered(self) -> bool:
        """Inside ``wait_for_unshard``: is there something to wait for?"""
        return places.GATHERED.read(self.raw) is not None

    @property
    def mesh(self) -> Any:
        return places.MESH.read(self._mesh_info)

    @property
    def _mesh_info(self) -> Any:
        return places.MESH_INFO.read(self.raw)

    @property
    def shards(self) -> int:
        """Over how many ranks one parameter is spread."""
        return self._size_along(places.SHARD_DIM)

    @property
    def shard_rank(self) -> int:
        dimension = places.SHARD_DIM.read(self._mesh_info)
        return 0 if dimension is None else int(self.mesh.get_local_rank(dimension))

    @property
    def replicated(self) -> bool:
        """Is it an HSDP group, of several replicas?"""
        return self._size_along(places.REPLICA_DIM) > 1

    def _size_along(self, place: places.Place) -> int:
        dimension = place.read(self._mesh_info)
        return 1 if dimension is None else int(self.mesh.size(dimension))

    @property
    def computes_in(self) -> torch.dtype | None:
        """The dtype of its gathered parameters, where they all have one."""
        own = {param.sharded.dtype for param in self.params}
        return self.asked_dtype or (own.pop() if len(own) == 1 else None)

    @property
    def asked_dtype(self) -> torch.dtype | None:
        """What its policy asks the parameters to be gathered in; None where they keep their own, or differ in it."""
        asked = {getattr(policy, "param_dtype", None) for policy in self.precisions}
        only = asked.pop() if len(asked) == 1 else None
        return only if isinstance(only, torch.dtype) else None

    @property
    def precisions(self) -> list[Any]:
        """The policies of mixed precision: one for the group, or what its parameters have."""
        if places.POLICY.is_in(self.raw):
            return [places.POLICY.read(self.raw)]
        return list({id(each): each for param in self.params for each in [_policy_of(param)]}.values())

    @property
    def offloading(self) -> Any:
        return places.OFFLOAD.read(self.raw)


def _policy_of(param: Param) -> Any:
    try:
        return places.PARAM_POLICY.read(param.raw)
    except places.Missing:
        raise places.Missing(places.POLICY) from None
