"""Hooks and attributes of parameters that are about to be replaced."""

from __future__ import annotations

import sys
from typing import Any

from ...vocab.events.replacement import ParametersReplaced
from .. import adapter
from ..handles.replacement import RuntimeReplacement
from ..ledger import Trained
from ..session import Session

_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


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

    if place := adapter.place("sharding"):
        session.hot.watch(place, before=session.quietly(shard))


def settle(session: Session, model: Trained) -> None:
    """Of each model the first call that lost something: one mistake is told once."""
    top = model.module()
    if top is None or not model.trained:
        return
    shardings = session.ledger.inside(top)
    first = next((each for each in shardings if each.hooks), shardings[0])
    session.hear(ParametersReplaced(when=first.when, replacement=RuntimeReplacement(session.ledger, first)))
