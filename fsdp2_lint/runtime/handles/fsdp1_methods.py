"""A sharded module that was asked for a method of FSDP1, alive."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ...vocab.answers import Answer, unknown, yes
from ...vocab.finding import Place
from ...vocab.rule import ModelKey
from ..closure import looked
from ..ledger import Asked, Ledger
from .models import RuntimeModel


@dataclass(frozen=True, slots=True)
class RuntimeAsked:
    ledger: Ledger
    asked: Asked
    module: nn.Module

    @property
    def label(self) -> str:
        return self._model.label

    @property
    def model_key(self) -> ModelKey:
        return self._model.model_key

    @property
    def _model(self) -> RuntimeModel:
        return RuntimeModel(self.ledger, self.module)

    def lacks_it(self) -> Answer[Place]:
        sharded = self._model.sharded()
        return (
            yes(Place(sharded.what, f"{self.label} is sharded by FSDP2 here"))
            if sharded
            else looked("it is sharded by nobody")
        )

    def goes_on(self) -> Answer[Place]:
        if self.asked.insists:
            return looked("the program does not ask whether there is one")
        if any(each.sync_switched for each in self.ledger.inside(self.module)):
            return unknown(f"set_requires_gradient_sync is called on {self.label}")
        return yes(Place(self.asked.when, "the program asks whether there is one"))
