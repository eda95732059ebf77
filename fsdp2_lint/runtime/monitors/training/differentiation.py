"""Gradients of parameters that the job takes itself, with ``torch.autograd.grad``."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.training import GradientsAsked
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here
from ..shared.units import OfSharding

_REDUCING = ("reduce", "gather", "alltoall", "all_to_all")  # in the names of what can put gradients together


@dataclass(frozen=True, slots=True)
class RuntimeDifferentiated(OfSharding):
    when: Moment
    reduced: Moment | None = None  # where the job puts something of all ranks together afterwards

    def unreduced(self) -> Answer[Place]:
        if all(group.shards == 1 and not group.replicated for group in self.sharding.groups()):
            return looked("one rank alone has these parameters")
        if self.reduced is not None:
            return unknown(f"whether these gradients are reduced at {self.reduced.at} is not known")
        return yes(Place(self.sharding.when))


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch((torch.autograd, "grad"), before=watch.taken, after=watch.returned)
    session.hot.keep(register_optimizer_step_pre_hook(session.quietly(lambda *args: watch.settle())))
    session.at_end.append(watch.end)


class _Watch:
    """What was taken is judged when the next step begins: until then the job may reduce it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.open: list[RuntimeDifferentiated] = []
        self.asked: list[RuntimeDifferentiated] = []  # by a call that has not returned: where it raises, nobody reduces
        self.watches = False  # the collectives of the job: few jobs take gradients themselves

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ledger = self.session.ledger
        if not ledger.shardings or adapter.is_traced() or called_by_torch(sys._getframe()):
            return  # torch calls it anew in the midst of a call, where tensors are of a class of their own
        self.asked = []
        given = argument(args, kwargs, 1, "inputs")
        wanted = {id(each) for each in (given if isinstance(given, (list, tuple)) else [given])}
        managed = ledger.managed(ledger.shardings)
        for sharding in {id(managed[each][0]): managed[each][0] for each in wanted if each in managed}.values():
            self.asked.append(RuntimeDifferentiated(ledger, sharding, here()))
        if self.asked and not self.watches:
            self.watches = True
            self._watch_collectives()

    def returned(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.open += self.asked
        self.asked = []

    def _watch_collectives(self) -> None:
        hot, note = self.session.hot, self.session.quietly(self._reduced)
        for owner, name, *_ in adapter.collectives():
            if any(word in name for word in _REDUCING):
                hot.replace(owner, name, _watched(getattr(owner, name), note))

    def _reduced(self) -> None:
        if self.open and adapter.issued_by_the_job(sys._getframe()):
            self.open = [replace(each, reduced=each.reduced or here()) for each in self.open]

    def end(self) -> None:
        if self.session.cut_off:
            self.open = []  # the job did not come to where it may reduce them
        self.open += self.asked
        self.settle()

    def settle(self) -> None:
        taken, self.open = self.open, []
        for each in taken:
            self.session.dispatch(GradientsAsked(when=each.when, model=each))


def _watched(original: Any, note: Any) -> Any:
    """Compilers trace it: there is no more in it than has to be."""

    @functools.wraps(original)
    def issue(*args: Any, **kwargs: Any) -> Any:
        if not adapter.is_traced():
            note()
        return original(*args, **kwargs)

    return issue
