"""Hooks and attributes of parameters that are about to be replaced."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.replacement import ParametersReplaced
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...ledger import Trained
from ...session import Session
from ..shared.units import OfSharding

_HOOKS = {"_backward_hooks": "register_hook()", "_post_accumulate_grad_hooks": "register_post_accumulate_grad_hook()"}


@dataclass(frozen=True, slots=True)
class RuntimeReplacement(OfSharding):
    """``asked``: the name of an attribute that a parameter did not have any more, and where it was read."""

    asked: tuple[str, Moment] | None = None

    def hooks_lost(self) -> Answer[Place]:
        registered_again = any(
            getattr(param.sharded, slot, None) for param in self.sharding.params() for slot in _HOOKS
        )
        if not self.sharding.hooks or registered_again:
            return looked("no hook was registered before")
        return yes(Place(self.sharding.when, _HOOKS[self.sharding.hooks[0]]))

    def attributes_lost(self) -> Answer[Place]:
        if self.asked is None:
            return looked("no attribute was asked for in vain")
        return yes(Place(self.asked[1], repr(self.asked[0])))

    def aliases_used(self) -> Answer[Place]:
        return unknown("who reads a tensor is not watched")


def install(session: Session) -> None:
    def shard(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Just before ``fully_shard`` replaces parameters; the call itself has been noted by now."""
        sharding = session.ledger.shardings[-1] if session.ledger.shardings else None
        if sharding is None or sharding.state() is not args[0]:
            return
        ignored = adapter.call_of_fully_shard(sys._getframe()).get("ignored_params") or ()
        left = {id(each) for each in ignored}
        hooks: dict[str, None] = {}
        for module in sharding.live_modules():
            for parameter in module.parameters():
                if isinstance(parameter, adapter.DTensor) or id(parameter) in left:
                    continue
                hooks.update(dict.fromkeys(slot for slot in _HOOKS if getattr(parameter, slot, None)))
                sharding.attributes.update(name for name in vars(parameter) if not name.startswith("_"))
        sharding.hooks = tuple(hooks)

    session.watch_fsdp2("sharding", before=shard)


def settle(session: Session, model: Trained) -> None:
    """Of each model the first call that lost something: one mistake is told once."""
    top = model.module()
    if top is None or not model.trained:
        return
    shardings = session.ledger.inside(top)
    first = next((each for each in shardings if each.hooks), shardings[0])
    session.dispatch(ParametersReplaced(when=first.when, replacement=RuntimeReplacement(session.ledger, first)))
