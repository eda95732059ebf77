"""One group of FSDP2, alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.events.training import NOT_AWAITED, UNFINISHED
from ....vocab.finding import Moment, Place
from ....vocab.rule import ModelKey
from ... import adapter
from ...closure import looked, shown
from ...ledger import Ledger, Sharding, dotted, label_of
from .policies import Wrong, wrong

LOW = (torch.bfloat16, torch.float16)

_MIB = 2**20
WORTH_SHARING = 0.001  # of a model's parameters, and 1 MiB: what is smaller costs nothing where it lies
WORTH_EVENING = 1.1  # a rank holds at least a tenth more than an even share of it
MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class OfSharding:
    """What is asked of one call of ``fully_shard``."""

    ledger: Ledger
    sharding: Sharding

    @property
    def label(self) -> str:
        return self.sharding.label

    @property
    def model_key(self) -> ModelKey:
        module = next(iter(self.sharding.live_modules()), None)
        return self.ledger.key_of(module, self.sharding.label, self.sharding.when)


@dataclass(frozen=True, slots=True)
class OfShardings:
    """What is asked of a model by what was sharded of it."""

    ledger: Ledger
    module: nn.Module
    shardings: tuple[Sharding, ...]

    @property
    def label(self) -> str:
        return label_of(self.module)

    @property
    def model_key(self) -> ModelKey:
        return self.ledger.key_of(self.module, self.label, self.shardings[0].when)


@dataclass(frozen=True, slots=True)
class RuntimeUnit(OfSharding):
    twice: Moment | None = None  # an earlier call on the same module, which torch refuses
    after_backward: bool = False

    @property
    def fqn(self) -> str:
        return next((group.fqn for group in self.sharding.groups()), "")

    def made(self) -> Answer[Moment]:
        return yes(self.sharding.when)

    def inside(self) -> Answer[Moment]:
        return shown(self.sharding.outer, "no group around it was made before")

    def repeated(self) -> Answer[Moment]:
        return shown(self.twice, "it had no group before")

    def container_without_forward(self) -> Answer[str]:
        return unknown("fully_shard itself refuses containers at run time")

    def tied_elsewhere(self) -> Many[tuple[str, Moment]]:
        return many(self.sharding.tied, looked("the parameters of all groups were compared"))

    def tied_again(self) -> Answer[Place]:
        return looked("the parameters were compared where they were sharded")

    def ignored_names(self) -> Many[str]:
        return many(self.sharding.ignored_names, looked("ignored_params was looked at"))

    def ignored_trained(self) -> Answer[Place]:
        return looked("the gradients of the ranks are compared instead")

    def empty_shards(self) -> Answer[Place]:
        modules = self.sharding.live_modules()
        model = self.ledger.model_of(modules[0]) if modules else None
        top = model.module() if model is not None else None
        whole = sum(each.numel() for each in top.parameters()) if top is not None else 0
        # Before the first forward is over, a parameter does not know its whole name.
        paths = {id(module): path for path, module in top.named_modules()} if top is not None else {}
        words = [
            f"{dotted(paths.get(id(param.module), ''), param.name)} of {param.shape[0]} rows leaves {empty} of "
            f"{group.shards} ranks without any"
            for group in self.sharding.groups()
            for param in group.params
            if (empty := _without_rows(param, group.shards)) and _matters(param, whole)
        ]
        if not words:
            return looked("the chunks of its parameters were counted")
        return yes(Place(self.sharding.when, "; ".join(words[:MOST_NAMES])))

    def wrong_policies(self) -> Many[Wrong]:
        groups = self.sharding.groups()
        given = [("mp_policy", each) for group in groups for each in group.precisions]
        given += [("offload_policy", group.offloading) for group in groups]
        return many(wrong(given), looked("the policies of the group were looked at"))

    def reduced_low(self) -> Many[Place]:
        found: dict[Place, None] = {}
        for group, policy in ((each, policy) for each in self.sharding.groups() for policy in each.precisions):
            if (
                isinstance(policy, MixedPrecisionPolicy)
                and policy.param_dtype in LOW
                and policy.reduce_dtype is None
                and any(param.sharded.requires_grad for param in group.params)
            ):
                made = self.ledger.made(policy) or self.sharding.when
                found[Place(made, adapter.dtype_name(policy.param_dtype))] = None
        return many(found, looked("the policy of the group was looked at"))

    def mixed_dtypes(self) -> Answer[str]:
        for group in self.sharding.groups():
            first: dict[torch.dtype, str] = {}
            for param in group.params:
                if param.sharded.requires_grad:
                    first.setdefault(param.sharded.dtype, f"{adapter.dtype_name(param.sharded.dtype)} ({param.name})")
            if len(first) > 1:
                return yes(" and ".join(first.values()))
        return looked("the dtypes of its parameters were read")

    def left_gathered(self) -> Answer[str]:
        # of several modules some may be yet to run, as in a loss by chunks
        if self.sharding.unsharded_by_user or self.sharding.switched or len(self.sharding.modules) > 1:
            return looked("some of its modules are yet to run")
        for group in self.sharding.groups():
            if group.has_just_gathered or (
                not group.reshards_after_backward if self.after_backward else group.stays_gathered
            ):
                continue
            held = sum(param.gathered_storage for param in group.params)
            if group.is_gathered:
                return yes(f"it is gathered still, with {_size(held)}")
            if held:
                return yes(f"it is sharded again, but {_size(held)} of its gathered copy are not freed")
        return looked("its storage was looked at")


def _matters(param: adapter.Param, whole: int) -> bool:
    size = param.numel * param.sharded.element_size()
    return size >= _MIB and param.numel >= WORTH_SHARING * whole


def _without_rows(param: adapter.Param, shards: int) -> int:
    """How many ranks hold nothing of it: its rows are cut into equal chunks, rounded up, until they run out.

    None where that costs the others next to nothing: 10,944 rows on 256 ranks are 43 each, not 42.75, and none for one.
    """
    if not param.shape or param.dimension != 0:
        return 0
    chunk = -(-param.shape[0] // shards)
    if chunk * shards < WORTH_EVENING * param.shape[0]:
        return 0
    return shards - -(-param.shape[0] // chunk) if chunk else shards


def unfinished(sharding: Sharding) -> Place | None:
    """The call by which a backward waits to be brought to an end, while it does."""
    seen, state = sharding.gradients, sharding.state()
    if state is None or not adapter.backward_is_open(state):
        return None
    if seen.finalized is not None and adapter.reduction_is_awaited(state):
        return Place(seen.finalized, NOT_AWAITED)
    return Place(seen.manual, UNFINISHED) if seen.manual is not None else None


def strays(sharding: Sharding, first_forward: bool) -> list[tuple[adapter.Param, str]]:
    """Parameters that are not what sharding registered, and what they are.

    Until the first forward FSDP2 accepts another DTensor on the planned mesh with the planned
    placements; after that it uses its own objects only.
    """
    found = []
    for param in sharding.params():
        current: Any = param.current
        if current is None or any(current is each for each in (param.sharded, *param.copies)):
            continue
        if not isinstance(current, adapter.DTensor):
            found.append((param, "a plain tensor"))
            continue
        here = adapter.ranks_of(current.device_mesh), tuple(str(each) for each in current.placements)
        ranks, placements = sharding.planned.get(id(param.raw)) or param.planned
        if here != (ranks, placements):
            found.append((param, f"a DTensor placed {', '.join(here[1])} and not {', '.join(placements)}"))
        elif not first_forward:
            found.append((param, "another DTensor than the one that FSDP2 trains"))
    return found


def _size(count: int) -> str:
    return f"{count / _MIB:.1f} MiB" if count >= _MIB else f"{count} bytes"
