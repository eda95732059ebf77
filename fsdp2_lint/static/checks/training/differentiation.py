"""Gradients of sharded parameters that the program takes itself."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.relations import Relation
from ..ranks.agreement import agreed_later
from ..shared.program import OfStep


class StaticDifferentiated(OfStep[events.Differentiated]):
    @property
    def label(self) -> str:
        return self.program.label(self.program.top(self.obj))

    def unreduced(self) -> Answer[Place]:
        """Unknown where ranks put together what may have been made of these gradients."""
        reads = [held.read for held in self.step.what.held if held.model is self.obj]
        for step, _ in self.program.units(self.obj, Relation.SAME, Relation.INSIDE):
            if step.precedes(self.step) and any(step.index < read for read in reads):
                if "ignored_params" in step.what.options or step.what.options_open:
                    return unknown(f"which parameters {step.when.at} leaves out is not known")
                why = self.program.managed(self.obj) or self._reduced()
                return unknown(why) if why else yes(Place(step.when))
        if self.program.has_units(self.obj, Relation.CONTAINS, Relation.MAY):
            return unknown("whether these parameters are sharded is not known")
        return self.program.nothing(self.obj, events.Sharded, before=self.step)

    def _reduced(self) -> str:
        for handed in self.program.trace.of(events.GradientsHandedOn):
            return f"{handed.what.who}, which was not followed, gets these gradients ({handed.when.at})"
        return agreed_later(self.program, self.step)
