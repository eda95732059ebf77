"""Gradients that are clipped, alive."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, yes
from ...vocab.finding import Place
from ...vocab.rule import ModelKey
from ..closure import looked
from ..ledger import Ledger, Sharding
from .units import RuntimeUnit


@dataclass(frozen=True, slots=True)
class RuntimeClip:
    ledger: Ledger
    sharding: Sharding
    clipped: frozenset[int]  # parameters, by identity

    @property
    def label(self) -> str:
        return self.model_key.label

    @property
    def model_key(self) -> ModelKey:
        return RuntimeUnit(self.ledger, self.sharding).model_key

    def used_before(self) -> Answer[Place]:
        holders = [
            built
            for built in self.ledger.optimizers
            if any(id(parameter) in self.clipped for parameter in built.held())
        ]
        steps = [built.stepped for built in holders if built.stepped is not None]
        if not steps or len(steps) < len(holders):
            return looked("no step used these gradients before")
        return yes(Place(steps[-1], f"this step uses the gradients of {self.label}"))
