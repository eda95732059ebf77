"""The keywords of all calls on one model, as its groups have them."""

from __future__ import annotations

from dataclasses import dataclass

from ...vocab.answers import Answer, no, yes
from ...vocab.finding import Place
from .models import RuntimeModel


@dataclass(frozen=True, slots=True)
class RuntimeResharding(RuntimeModel):
    def never(self) -> Answer:
        shardings = self.ledger.inside(self.module)
        own = self.ledger.of_module(self.module)
        if own is None or len(shardings) < 2 or any(each.switched for each in shardings):
            return no()
        groups = [group for each in shardings for group in each.groups()]
        if all(group.stays_gathered and group.shards > 1 for group in groups):
            return yes(Place(next(each for each in shardings if each is not own).when))
        return no()
