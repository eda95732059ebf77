"""Weights that are written between a forward and its backward, as a group that is gathered twice meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.events.forward import GradientsTaken
from ....vocab.finding import Moment, Place, listed
from ... import adapter
from ...agreement.digests import sum_of_bits
from ...closure import looked
from ...session import Session
from ...sites import here
from ..shared.units import RuntimeUnit

MOST_FORWARDS = 4  # before a backward: of which of them gradients are taken is not known
Versions = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A group as a forward found it: how often each shard had been written, and the sums of their bits."""

    when: Moment
    versions: Versions
    sums: list[torch.Tensor]


@dataclass(frozen=True, slots=True)
class RuntimePass:
    forwards: list[_Gathered]
    group: adapter.Group

    def changed(self) -> Answer[Place]:
        """Not where any of the forwards used the weights of now: the gradients may be of that one."""
        now = versions_of(self.group)
        if any(each.versions == now for each in self.forwards):
            return looked("no shard was written since the forward")
        sums = [sum_of_bits(param.sharded) for param in self.group.params]
        others = [
            {param.fqn for param, old, new in zip(self.group.params, each.sums, sums) if _matters(param) and old != new}
            for each in self.forwards
        ]
        names = sorted(set.intersection(*others))
        if not names or not all(others):
            return looked("the shards are what they were in a forward")
        return yes(Place(self.forwards[-1].when, listed(names)))

    def writes(self) -> Many[Place]:
        return many((), unknown("who writes to a tensor is not watched"))


def versions_of(group: adapter.Group) -> Versions:
    return tuple(adapter.version(param.sharded) for param in group.params)


def _matters(param: adapter.Param) -> bool:
    """Do gradients depend on its value? On a bias or an embedding of torch's own layers they do not."""
    cls = adapter.original_class(param.module)
    plain = cls.__module__.startswith("torch.nn.")
    return not (plain and (param.name == "bias" or cls in (nn.Embedding, nn.EmbeddingBag)))


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("first_forward", before=watch.begin)
    session.watch_fsdp2("gathering", before=watch.gather)
    session.watch_fsdp2("backward_end", after=watch.ended)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.forwards: dict[int, list[_Gathered]] = {}  # since the last backward, by the identity of the group
        self.entered: Moment | None = None
        self.backward_at: Moment | None = None

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root = adapter.is_root(args[0])
        if root is not False and not adapter.forward_is_running(args[0]):
            self.entered = here()

    def gather(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        group = adapter.Group(args[0])
        if not group.has_just_gathered or adapter.is_captured():
            return
        if adapter.in_forward(group):
            self._note(group)
        elif adapter.before_backward(group):
            self._compare(group)

    def _note(self, group: adapter.Group) -> None:
        known = self.forwards.setdefault(id(group.raw), [])
        plain = all(type(adapter.local(param.sharded)) is torch.Tensor for param in group.params)
        if plain and torch.is_grad_enabled() and self.entered is not None and len(known) <= MOST_FORWARDS:
            sums = [sum_of_bits(param.sharded) for param in group.params]
            known.append(_Gathered(self.entered, versions_of(group), sums))

    def _compare(self, group: adapter.Group) -> None:
        """Once in a backward: an optimizer that steps inside it may write the shards of a group that is done."""
        forwards = self.forwards.pop(id(group.raw), [])
        sharding = self.session.ledger.of_group(group)
        self.backward_at = when = self.backward_at or here()
        if sharding is not None and 0 < len(forwards) <= MOST_FORWARDS:
            unit = RuntimeUnit(self.session.ledger, sharding)
            taken = RuntimePass(forwards, group)
            self.session.dispatch(GradientsTaken(when=when, model=unit, taken=taken), fqn=unit.fqn)

    def ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What stayed gathered from its forward on was not compared: its backward has the weights of the forward."""
        self.backward_at = None
        for sharding in self.session.ledger.inside(adapter.modules_of(args[0])[0]):
            for group in sharding.groups():
                self.forwards.pop(id(group.raw), None)
