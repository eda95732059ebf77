"""Hooks and attributes of parameters that are about to be replaced."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.sharding import ParametersReplaced
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...expressions import executed, value_of
from ...ledger import Trained
from ...session import Session
from ...sites import asking, here
from ..shared.units import OfSharding

_PLAIN = (bool, int, float, str, type(None))
_CLASS = "__class__"  # stands for the name of its class, where a parameter has one of its own
_OTHER = object()  # stands for any other value, that is not kept


@dataclass(frozen=True, slots=True)
class RuntimeReplacement(OfSharding):
    """``asked``: the name of an attribute that a parameter did not have any more, and where it was read.

    ``owner``: the class of that parameter, where it had one of its own.
    """

    asked: tuple[str, Moment] | None = None
    owner: str = ""

    def hooks_lost(self) -> Answer[Place]:
        registered_again = any(adapter.hooks_of(param.sharded) for param in self.sharding.params())
        if not self.sharding.hooks or registered_again:
            return looked("no hook was registered before")
        return yes(Place(self.sharding.when, f"{self.sharding.hooks[0]}()"))

    def attributes_lost(self) -> Answer[Place]:
        if self.asked is None:
            return looked("no attribute was asked for in vain")
        return yes(Place(self.asked[1], repr(self.asked[0])))

    def state_lost(self) -> Answer[str]:
        return yes(f"parameters of class {self.owner}") if self.owner else looked("they were plain parameters")

    def aliases_used(self) -> Answer[Place]:
        return unknown("who reads a tensor is not watched")


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("sharding", before=watch.shard)


def look_up_lost(session: Session, name: str, when: Moment) -> None:
    """An attribute is read in vain that parameters had: of the calls that replaced such ones the first is told of."""
    for sharding in session.ledger.shardings:
        owner = next((had.get(_CLASS, "") for had in sharding.attributes.values() if name in had), None)
        if owner is not None:
            replacement = RuntimeReplacement(session.ledger, sharding, (name, when), owner)
            session.dispatch(ParametersReplaced(when=sharding.when, replacement=replacement))
            return


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.names: set[str] = set()  # of attributes, that are watched

    def shard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Just before ``fully_shard`` replaces parameters; the call itself has been noted by now."""
        sharding = self.session.ledger.shardings[-1] if self.session.ledger.shardings else None
        if sharding is None or sharding.state() is not args[0]:
            return
        ignored = adapter.call_of_fully_shard(sys._getframe()).get("ignored_params") or ()
        left = {id(each) for each in ignored}
        hooks: dict[str, None] = {}
        for part in {part: None for module in sharding.live_modules() for part in module.modules()}:
            for name, parameter in adapter.own_parameters(part).items():
                if parameter is None or isinstance(parameter, adapter.DTensor) or id(parameter) in left:
                    continue
                hooks.update(dict.fromkeys(adapter.hooks_of(parameter)))
                sharding.attributes[id(part), name] = _set_on(parameter)
                self._watch_names(sharding.attributes[id(part), name])
        sharding.hooks = tuple(hooks)

    def _watch_names(self, names: Iterable[str]) -> None:
        """Shards and gathered copies do not have them: who asks with a default goes on, and nothing tells."""
        for name in set(names) - self.names - {_CLASS}:
            self.names.add(name)
            for cls in (adapter.DTensor, nn.Parameter):
                if not hasattr(cls, name):
                    self.session.hot.replace(cls, name, _Absent(name, self.session.quietly(self.asked)))

    def asked(self, tensor: torch.Tensor, name: str) -> None:
        frame = asking(sys._getframe())
        found = self.session.ledger.managed(self.session.ledger.shardings).get(id(tensor))
        if found is None or frame is None or name not in self.names:
            return
        sharding, param = found
        had = sharding.attributes.get((id(param.module), param.name), {})
        if name in had and not _is_default(had[name], frame):
            self.names.discard(name)  # that is told
            look_up_lost(self.session, name, here())


class _Absent:
    """Stands where an attribute would be looked for last, and finds nothing either. What is set is found before."""

    def __init__(self, name: str, note: Callable[[torch.Tensor, str], None]) -> None:
        self.name, self.note = name, note

    def __get__(self, tensor: torch.Tensor | None, owner: type) -> Any:
        if tensor is not None:
            self.note(tensor, self.name)
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}", name=self.name, obj=tensor)


def _set_on(parameter: torch.Tensor) -> dict[str, Any]:
    own = {_CLASS: type(parameter).__name__} if type(parameter) is not nn.Parameter else {}
    return own | {
        name: value if isinstance(value, _PLAIN) else _OTHER
        for name, value in vars(parameter).items()
        if not name.startswith("_")
    }


def _is_default(value: Any, frame: FrameType) -> bool:
    """Does the frame ask for an attribute with the very default that it had?"""
    call = executed(frame.f_code, frame.f_lasti)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) != 3:
        return False
    default = value_of(frame, call.args[2])
    return isinstance(default, _PLAIN) and type(default) is type(value) and default == value


def settle(session: Session, model: Trained) -> None:
    """Of each model the first call that lost something: one mistake is told once."""
    top = model.module()
    if top is None or not model.trained:
        return
    shardings = session.ledger.inside(top)
    first = next((each for each in shardings if each.hooks), shardings[0])
    session.dispatch(ParametersReplaced(when=first.when, replacement=RuntimeReplacement(session.ledger, first)))
