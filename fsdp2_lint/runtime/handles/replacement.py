"""What was attached to parameters that one call of ``fully_shard`` replaced."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, unknown, yes
from ...vocab.finding import Moment, Place
from ...vocab.rule import ModelKey
from ..closure import looked
from ..ledger import Ledger, Sharding

_HOOKS = {"_backward_hooks": "register_hook()", "_post_accumulate_grad_hooks": "register_post_accumulate_grad_hook()"}


@dataclass(frozen=True, slots=True)
class RuntimeReplacement:
    """``asked``: the name of an attribute that a parameter did not have any more, and where it was read."""

    ledger: Ledger
    sharding: Sharding
    asked: tuple[str, Moment] | None = None

    @property
    def label(self) -> str:
        return self.sharding.label

    @property
    def model_key(self) -> ModelKey:
        modules = self.sharding.live_modules()
        model = self.ledger.model_of(modules[0]) if modules else None
        return model.key if model is not None else ModelKey(self.label, self.sharding.when.at)

    def hooks_lost(self) -> Answer[Place]:
        registered_again = any(
            getattr(param.sharded, slot, None)
            for group in self.sharding.groups()
            for param in group.params
            for slot in _HOOKS
        )
        if not self.sharding.hooks or registered_again:
            return looked("no hook was registered before")
        return yes(Place(self.sharding.when, _HOOKS[self.sharding.hooks[0]]))

    def attributes_lost(self) -> Answer[Place]:
        return (
            yes(Place(self.asked[1], repr(self.asked[0])))
            if self.asked is not None
            else looked("no attribute was asked for in vain")
        )

    def aliases_used(self) -> Answer[Place]:
        return unknown("who reads a tensor is not watched")
