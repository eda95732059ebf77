"""An optimizer, alive."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ...vocab.answers import Answer, Many, many, unknown, yes
from ...vocab.finding import Place
from ...vocab.handles import Stale
from ...vocab.optimizers import on_shards
from ..closure import looked
from ..ledger import Built, Ledger, Sharding

LOW = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class RuntimeOptimizer:
    """As one model sees it: the answers are about the parameters of these shardings."""

    ledger: Ledger
    built: Built
    shardings: tuple[Sharding, ...]
    model: str

    @property
    def label(self) -> str:
        return self.built.label

    def replaced(self) -> Many[Stale]:
        found: dict[Stale, None] = {}
        for parameter in self.built.held():
            original = self.ledger.original(parameter)
            if original is None or original.sharding not in self.shardings or not original.was_replaced:
                continue
            found[Stale(self.built.took(parameter), original.sharding.when, self.model)] = None
        return many(found, looked("what the optimizer holds was compared with the model"))

    def temporary(self) -> Many[Stale]:
        held = {id(parameter): parameter for parameter in self.built.held()}
        found: dict[Stale, None] = {}
        for identity, sharding, gathered in self.built.temporary:
            if sharding in self.shardings and identity in held:
                found[Stale(self.built.took(held[identity]), gathered, self.model)] = None
        return many(found, looked("what the optimizer holds was compared with the model"))

    def unsafe_on_shards(self) -> Answer[Place]:
        cls = type(self.built.optimizer())
        words = on_shards(f"{cls.__module__}.{cls.__name__}")
        managed = self.ledger.managed(self.shardings)
        if words:
            for parameter in self.built.held():
                if id(parameter) in managed:
                    return yes(Place(managed[id(parameter)][0].when, words))
        return looked("the class of the optimizer was looked at")

    def low_precision(self) -> Answer[Place]:
        if not type(self.built.optimizer()).__module__.startswith("torch.optim"):
            return unknown(f"whether {self.label} keeps full precision elsewhere is not known")
        managed = self.ledger.managed(self.shardings)
        low = [
            Place(managed[id(parameter)][0].when, str(parameter.dtype).removeprefix("torch."))
            for parameter in self.built.held()
            if id(parameter) in managed
            and managed[id(parameter)][1].sharded is parameter  # gathered copies are of the dtype of the computation
            and parameter.requires_grad
            and parameter.dtype in LOW
        ]
        return yes(low[0]) if low else looked("the dtypes of what the optimizer holds were read")
