"""Learning rates and their like, in the watched steps and at the last step of the job: schedulers part late."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ....vocab.facts import Fact
from ....vocab.finding import Moment, Site
from ....vocab.optimizers import HYPERPARAMETERS
from ... import adapter
from ...session import Session
from ...sites import construction_of, here

KIND = "hyperparameters"
MOST = 16  # optimizers: a job may have one for each parameter
Numbers = tuple[object, ...]


def install(session: Session) -> None:
    """To the end of the job: a step costs a few microseconds, for which numbers are kept and nothing is written."""
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    session.watch((LRScheduler, "__init__"), rare=True, after=watch.scheduled)
    session.watch((ReduceLROnPlateau, "__init__"), rare=True, after=watch.scheduled)
    session.watch((ReduceLROnPlateau, "step"), rare=True, before=watch.fed)
    session.rare.keep(register_optimizer_step_pre_hook(session.quietly(watch.before_step)))
    session.at_end.append(watch.end)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of parameters, by the first one: other ranks may have put other parameters together."""

    position: int
    first: str
    ranks: tuple[int, ...]


@dataclass(eq=False, slots=True)
class _Noted:
    """An optimizer. ``last``: what each of its groups had at its last step; numbers, and no tensors."""

    optimizer: weakref.ref[Optimizer]
    label: str
    made: Moment
    stepped: Moment
    groups: tuple[_Group, ...]
    decided: Moment
    steps: int = 0
    said: int = 0  # the last of its steps that was stated
    last: list[Numbers] = field(default_factory=list)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.noted: list[_Noted] = []
        # Where what sets the learning rate is: a scheduler's construction, or the place that feeds it.
        self.deciding: weakref.WeakKeyDictionary[Optimizer, Moment] = weakref.WeakKeyDictionary()
        self.fed_once: weakref.WeakSet[ReduceLROnPlateau] = weakref.WeakSet()

    def scheduled(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if isinstance(optimizer := getattr(args[0], "optimizer", None), Optimizer):
            self.deciding[optimizer] = construction_of(args[0])

    def fed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Once: to find out where we are takes longer than the step of a scheduler."""
        scheduler = args[0]
        if scheduler not in self.fed_once:
            self.fed_once.add(scheduler)
            self.deciding[scheduler.optimizer] = here()

    def before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if adapter.only_makes_states(sys._getframe()):
            return
        noted = next((each for each in self.noted if each.optimizer() is optimizer), None)
        if noted is None and self.session.hot.live and len(self.noted) < MOST:
            noted = self._note(optimizer)
        if noted is None:
            return
        noted.steps += 1
        noted.decided = self.deciding.get(optimizer, noted.made)
        noted.last = [_numbers(optimizer.param_groups, group.position) for group in noted.groups]
        if self.session.hot.live:
            self._state(noted, None)

    def _note(self, optimizer: Optimizer) -> _Noted | None:
        """What it is called, and which of its groups have parameters of sharded models."""
        managed = {
            id(param.sharded): (param.fqn, adapter.ranks_of(group.mesh))
            for sharding in self.session.ledger.shardings
            for group in sharding.groups()
            for param in group.params
        }
        groups = []
        for position, held in enumerate(optimizer.param_groups):
            first = next((managed[id(each)] for each in held["params"] if id(each) in managed), None)
            if first is not None and len(first[1]) > 1:
                groups.append(_Group(position, *first))
        when, built = here(), self.session.ledger.built(optimizer)
        made = built.when if built is not None else when
        noted = _Noted(weakref.ref(optimizer), type(optimizer).__name__, made, when, tuple(groups), made)
        self.noted.append(noted)
        return noted

    def end(self) -> None:
        for noted in self.noted:
            if noted.steps > noted.said:
                self._state(noted, noted.steps)

    def _state(self, noted: _Noted, step: int | None) -> None:
        """One fact for each mesh: experts have meshes of their own."""
        noted.said = noted.steps
        for ranks in dict.fromkeys(group.ranks for group in noted.groups):
            values: dict[str, str] = {}
            places: dict[str, Site] = {}
            for group, numbers in zip(noted.groups, noted.last):
                for name, number in zip(HYPERPARAMETERS, numbers if group.ranks == ranks else ()):
                    if number is not None:
                        values[f"{name} of {group.first}"] = _in_digits(number)
                        places[f"{name} of {group.first}"] = (noted.decided if name == "lr" else noted.made).at
            key = f"{noted.label} of {noted.groups[0].first}, step {noted.steps}"
            self.session.state(Fact(KIND, key, noted.stepped, ranks, values, places, step=step))


def _numbers(groups: list[dict[str, Any]], position: int) -> Numbers:
    held = groups[position] if position < len(groups) else {}
    return tuple(_plain(held.get(name)) for name in HYPERPARAMETERS)


def _plain(value: object) -> object:
    """A number, or several. One that lies on a GPU would have to be waited for."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.is_cpu and value.numel() == 1 and not isinstance(value, adapter.DTensor) else None
    return value if isinstance(value, (int, float, tuple)) else None


def _in_digits(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_in_digits, value))
    return f"{value:.9g}" if isinstance(value, float) else str(value)
