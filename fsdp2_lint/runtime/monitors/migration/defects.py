"""Whether a job does what a defect of torch needs (``vocab/defects.py``). Only a rehearsal is asked."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule

from ....vocab.answers import Answer, unknown, yes
from ....vocab.defects import (
    BUFFER_OF_REPLICAS_REUSED,
    HOOK_BEFORE_COPY,
    REPLICAS_DIVIDE_AGAIN,
    UNFROZEN_AFTER_FORWARD,
    Defect,
)
from ....vocab.events.migration import DefectPossible
from ....vocab.finding import Moment, Place
from ....vocab.rule import ModelKey
from ... import adapter
from ...closure import looked
from ...ledger import Sharding
from ...patches import argument
from ...session import Session
from ...sites import here
from ..shared.units import LOW

_HOOK = "register_post_accumulate_grad_hook"


@dataclass(frozen=True, slots=True)
class RuntimeExposed:
    """A group that has the first of what a defect needs; ``met`` is what it came to."""

    label: str
    model_key: ModelKey
    met: Answer[Place]

    def meets(self) -> Answer[Place]:
        return self.met


@dataclass(eq=False, slots=True)
class _Open:
    """A call of ``fully_shard`` whose model runs. ``answers``: what is not met, as the last backward has it."""

    key: ModelKey
    answers: dict[Defect, Answer[Place]]
    frozen: dict[int, Moment | None] = field(default_factory=dict)


def install(session: Session) -> None:
    if not session.judges("FSDP910"):
        return
    watch = _Watch(session)
    session.watch_fsdp2("first_forward", before=watch.entered, after=watch.laid_out)
    session.watch_fsdp2("post_backward", before=watch.reduces)
    session.watch((torch.Tensor, _HOOK), before=watch.hooked)
    if hasattr(FSDPModule, "set_reduce_scatter_divide_factor"):
        session.watch((FSDPModule, "set_reduce_scatter_divide_factor"), before=watch.divided)
    adapter.watch_unfreezing(session.quietly(watch.unfrozen))
    session.at_end.append(watch.end)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.open: dict[Sharding, _Open] = {}
        self.hooks: dict[int, Moment] = {}  # by the identity of the parameter
        self.factors: weakref.WeakKeyDictionary[nn.Module, tuple[float, Moment]] = weakref.WeakKeyDictionary()

    # -- what the job does
    def hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.hooks[id(args[0])] = here()

    def divided(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.factors[args[0]] = float(argument(args, kwargs, 1, "factor")), here()

    def unfrozen(self, tensor: torch.Tensor) -> None:
        for each in self.open.values():
            if id(tensor) in each.frozen:
                each.frozen[id(tensor)] = here()

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """True where a model never ran before."""
        return adapter.is_root(args[0]) is None

    def laid_out(self, result: Any, first: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The dtypes of all groups of a model are settled."""
        ledger = self.session.ledger
        for sharding in ledger.inside(adapter.modules_of(args[0])[0]) if first else ():
            module = next(iter(sharding.live_modules()), None)
            key = ledger.key_of(module, sharding.label, sharding.when)
            untrained = unknown(f"no backward pass through {sharding.label} was seen")
            seen = _Open(key, dict.fromkeys(_possible(sharding), untrained))
            for group in sharding.groups():
                if not any(param.sharded.requires_grad for param in group.params):
                    seen.frozen.update((id(param.sharded), None) for param in group.params)
            self.open[sharding] = seen

    def reduces(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the gradients of a group are reduced."""
        group = adapter.Group(args[0])
        sharding = self.session.ledger.of_group(group)
        seen = self.open.get(sharding) if sharding is not None else None
        trained = [param for param in group.params if param.has_gradient]
        if sharding is None or seen is None or not trained:
            return
        for defect in list(seen.answers):
            answer = seen.answers[defect] = self._answer(defect, sharding, group, trained)
            if answer.surely:
                self._tell(sharding, seen, defect)

    def end(self) -> None:
        for sharding, seen in self.open.items():
            for defect in list(seen.answers):
                self._tell(sharding, seen, defect)

    def _tell(self, sharding: Sharding, seen: _Open, defect: Defect) -> None:
        met = seen.answers.pop(defect)
        if not met.possibly and self.session.cut_off and defect is not BUFFER_OF_REPLICAS_REUSED:
            met = unknown("what the job does after it was left is not known")
        model = RuntimeExposed(sharding.label, seen.key, met)
        self.session.dispatch(DefectPossible(when=sharding.when, defect=defect, model=model))

    # -- whether that is what a defect needs
    def _answer(
        self, defect: Defect, sharding: Sharding, group: adapter.Group, trained: list[adapter.Param]
    ) -> Answer[Place]:
        if defect is UNFROZEN_AFTER_FORWARD:
            return self._unfrozen_later(self.open[sharding].frozen, trained)
        if defect is HOOK_BEFORE_COPY:
            return self._hooked(trained)
        if defect is REPLICAS_DIVIDE_AGAIN:
            return self._divided(sharding, group)
        return self._reduced_in_half(sharding, group, trained)

    def _unfrozen_later(self, frozen: dict[int, Moment | None], trained: list[adapter.Param]) -> Answer[Place]:
        late = [param.sharded for param in trained if id(param.sharded) in frozen]
        if not late:
            return looked("a part of the group was trained at its first forward")
        when = next(filter(None, (frozen[id(each)] for each in late)), None) or here()
        return yes(Place(when, "it is unfrozen after the first forward"))

    def _hooked(self, trained: list[adapter.Param]) -> Answer[Place]:
        for param in trained:
            if _HOOK in adapter.hooks_of(param.sharded) and (when := self.hooks.get(id(param.sharded))) is not None:
                return yes(Place(when, "its gradient may not be there yet"))
        return looked("its parameters were asked for hooks")

    def _divided(self, sharding: Sharding, group: adapter.Group) -> Answer[Place]:
        said = next((self.factors[each] for each in sharding.live_modules() if each in self.factors), None)
        if said is None:
            return looked("no factor was given")
        factor, when = said
        if factor != len(adapter.ranks_of(group.mesh)):
            return unknown(f"whether the factor at {when.at} is meant for the replicas too is not known")
        return yes(Place(when, "this is the number of all ranks, replicas too"))

    def _reduced_in_half(self, sharding: Sharding, group: adapter.Group, trained: list[adapter.Param]) -> Answer[Place]:
        asked = {getattr(policy, "reduce_dtype", None) or group.asked_dtype for policy in group.precisions}
        if not asked <= {*LOW} or any(param.sharded.dtype in LOW for param in trained):
            return looked("the dtypes of the reduction and of its parameters were read")
        made = next(filter(None, map(self.session.ledger.made, group.precisions)), None)
        return yes(Place(made or sharding.when, "gradients are reduced in 16 bits"))


def _possible(sharding: Sharding) -> Iterator[Defect]:
    """The defects of whose conditions the group has the first."""
    on_gpus = adapter.device_meant(torch.device("cpu")).type == "cuda"
    for group in sharding.groups():
        low = group.asked_dtype in LOW
        if low:
            yield UNFROZEN_AFTER_FORWARD
        if on_gpus and isinstance(group.offloading, CPUOffloadPolicy) and group.offloading.pin_memory:
            yield HOOK_BEFORE_COPY
        if group.replicated:
            yield REPLICAS_DIVIDE_AGAIN
            if low and on_gpus:
                yield BUFFER_OF_REPLICAS_REUSED
