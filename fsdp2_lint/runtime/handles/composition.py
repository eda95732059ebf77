"""A module that something else than ``fully_shard`` takes hold of, alive."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, unknown, yes
from ...vocab.finding import Place
from ...vocab.rule import ModelKey
from ..closure import looked
from ..ledger import Sharding


@dataclass(frozen=True, slots=True)
class RuntimeComposition:
    label: str
    shardings: tuple[Sharding, ...]  # of it and of its parts

    @property
    def model_key(self) -> ModelKey | None:
        return ModelKey(self.label, self.shardings[0].when.at) if self.shardings else None

    def sharded_before(self) -> Answer[Place]:
        return yes(Place(self.shardings[0].when)) if self.shardings else looked("no group is around it")

    def outermost(self) -> Answer[Place]:
        return unknown("only the source tells")
