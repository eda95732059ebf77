"""Learning rates and their like: does each rank get its own?"""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...libraries.torch.ranks.seeds import differs
from ..ranks.own_values import own_value
from ..shared.program import AtStep


class StaticHyperparameters(AtStep[events.HyperparameterGiven]):
    def differ(self) -> Answer[Place]:
        """Unknown where the number, or the batch that it is computed of, was not followed."""
        if why := self.program.managed_by or self.program.open_why:
            return unknown(why)
        own = differs(self.program.machine, self.step.what.value)
        if own is not None:
            same = self.program.excluded("the number is the same on all ranks")
            return yes(Place(self.step.when, "it is computed from the rank")) if own else same
        found = own_value(self.program, self.step.what.value)
        return unknown(found) if isinstance(found, str) else yes(found)
