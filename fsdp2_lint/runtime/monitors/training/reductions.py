"""Gradients between backward and step: which are reduced, and which are cleared where ``zero_grad`` finds them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.optim import Optimizer

from ....vocab.answers import Answer, Many, many
from ....vocab.behaviour import Behaviour
from ....vocab.events.training import BackwardBegun, Carried
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...ledger import Sharding
from ...patches import argument
from ...session import Session
from ...sites import here
from ..sharding.sharding import concerned
from ..shared.units import OfShardings, unfinished

SYNC = "set_requires_gradient_sync"
ALL_REDUCE = "set_requires_all_reduce"
MANUAL = "set_manual_backward_finalization"  # of torch 2.15, as the next
FINALIZE = "finalize_backward"


@dataclass(frozen=True, slots=True)
class RuntimeCarrier(OfShardings):
    """A model as a backward finds it."""

    def carried_over(self) -> Many[Carried]:
        return many(
            (
                Carried(each.label, *each.gradients.survived)
                for each in self.shardings
                if each.gradients.survived is not None
            ),
            looked("all its groups were asked which gradients they hold"),
        )

    def reset_by(self) -> Answer[Behaviour]:
        return looked("its groups hold them still, whatever was called")

    def reset_in_time(self) -> Answer[Place]:
        return looked("its groups hold them still")


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch((FSDPModule, SYNC), before=watch.sync)
    if hasattr(FSDPModule, ALL_REDUCE):
        session.watch((FSDPModule, ALL_REDUCE), before=watch.all_reduce)
    if hasattr(FSDPModule, MANUAL):
        session.watch((FSDPModule, MANUAL), before=watch.manual)
    if hasattr(FSDPModule, FINALIZE):
        session.watch((FSDPModule, FINALIZE), after=watch.finalized)
    session.watch((Optimizer, "zero_grad"), after=watch.cleared)
    session.watch((nn.Module, "zero_grad"), after=watch.cleared)
    session.watch_fsdp2("pre_backward", before=watch.backward_begins)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.ledger = session.ledger
        self.in_backward = False
        self.cleared_since = False  # the last backward, in a job that switches what is reduced

    def sync(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """It sets both: whether gradients are reduced, and whether replicas are."""
        off = None if argument(args, kwargs, 1, "requires_gradient_sync") else here()
        for sharding in concerned(self.ledger, args, kwargs):
            seen = sharding.gradients
            seen.sync_off, seen.all_reduce_off, seen.switched = off or seen.sync_off, None, True
            if off is None and unfinished(sharding) is not None:
                seen.left_off = None  # finalize_backward() will reduce what this backward did not

    def all_reduce(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        off = None if argument(args, kwargs, 1, "requires_all_reduce") else here()
        for sharding in concerned(self.ledger, args, kwargs):
            sharding.gradients.all_reduce_off, sharding.gradients.switched = off, True

    def manual(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        when = here() if argument(args, kwargs, 1, "enabled") else None
        for sharding in concerned(self.ledger, args, kwargs):
            sharding.gradients.manual = when

    def finalized(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """It reduces what the backwards before it left, by what is switched on now."""
        when = here()
        for sharding in self.ledger.inside(args[0]):
            left = any(map(adapter.holds_gradients, sharding.groups()))
            sharding.gradients.finalized, sharding.gradients.left_off = when, _left_off(sharding) if left else None

    def cleared(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Has anything stayed that should be gone? A step that used nothing of it is a fault of its own."""
        switching = [each for each in self.ledger.shardings if each.gradients.switched]
        if not switching or adapter.only_makes_states(sys._getframe()):
            return
        self.cleared_since, when = True, None
        given = {id(parameter) for parameter in _parameters(args[0])}
        done = {id(each) for built in self.ledger.optimizers if built.stepped is not None for each in built.held()}
        left = self.ledger.backward_at
        for sharding in switching:
            shards = {id(param.sharded) for param in sharding.params()}
            own = shards.union(id(copy) for param in sharding.params() for copy in param.copies)
            if left is None or sharding.gradients.survived or own.isdisjoint(given) or not done.isdisjoint(shards):
                continue
            if any(map(adapter.holds_gradients, sharding.groups())):
                when = when or here()
                sharding.gradients.survived = (left, when)

    def backward_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.in_backward:
            return
        self.in_backward = True
        top = self.ledger.top_of_group(adapter.Group(args[0])) if self.cleared_since else None
        if top is None:
            return
        inside = tuple(self.ledger.inside(top))
        for sharding in inside:
            if not any(map(adapter.holds_gradients, sharding.groups())):
                sharding.gradients.survived = None  # they were cleared after all
        self.session.dispatch(BackwardBegun(when=here(), model=RuntimeCarrier(self.ledger, top, inside)))
        for sharding in inside:
            sharding.gradients.survived = None
        self.cleared_since = any(each.gradients.survived for each in self.ledger.shardings)

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.in_backward = False
        for sharding in self.ledger.inside(adapter.modules_of(args[0])[0]):
            sharding.gradients.left_off = _left_off(sharding)


def _parameters(owner: Any) -> list[Any]:
    if isinstance(owner, nn.Module):
        return list(owner.parameters())
    return [each for group in owner.param_groups for each in group["params"]]


def _left_off(sharding: Sharding) -> Place | None:
    """The switch that is in force, and by which its groups do not reduce their gradients, or not over replicas."""
    seen, groups = sharding.gradients, sharding.groups()
    if not all(group.reduces_gradients for group in groups):
        return _place(seen.sync_off, SYNC)
    if not all(map(adapter.reduces_over_replicas, groups)):
        return _place(seen.all_reduce_off, ALL_REDUCE)
    return None


def _place(when: Moment | None, switch: str) -> Place | None:
    return Place(when, f"{switch}(False)") if when is not None else None
