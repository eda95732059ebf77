"""Writes that may end beside a sharded parameter."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.relations import Relation
from ..shared.objects import RELATED
from ..shared.program import OfStep


class StaticWrite(OfStep[events.Event]):
    def lost(self) -> Answer[Place]:
        """Does this write end in a copy? Unknown where what is written to was not followed."""
        for formula, truth in self.step.guard.literals:
            if not truth and formula[0] == "truth" and isinstance(formula[1], tuple) and formula[1][0] == "dtensor":
                return self.program.excluded("the program asked, and writes to what is no DTensor")
        for sharding, _ in self.program.units(self.obj, Relation.SAME, Relation.INSIDE):
            if not sharding.precedes(self.step):
                continue
            if sharding.what.options_open or {"shard_placement_fn", "ignored_params"} & set(sharding.what.options):
                return unknown("whether it is sharded along its first dimension is not known")
            if self.step.guard.blurred - sharding.guard.blurred or self._gathered():
                return unknown("whether it is sharded at this moment is not known")
            return yes(Place(sharding.when, "sharded here"))
        may = any(step.index < self.step.index for step, _ in self.program.units(self.obj, *RELATED, Relation.MAY))
        if may:
            return unknown("whether this very parameter is sharded by then is not known")
        return self.program.nothing(self.obj, events.Sharded, before=self.step)

    def _gathered(self) -> bool:
        return any(
            self.program.touches(step.subject, self.obj) and not self._resharded(step)
            for step in self.program.trace.of(events.Unshard, before=self.step)
        )

    def _resharded(self, gathered: AnyStep) -> bool:
        """Does each run that gathers the module there reshard the same one before the write?"""
        return any(
            gathered.index < step.index
            and step.context == gathered.context == self.step.context
            and step.subject is gathered.subject
            and gathered.guard.implies(step.guard)
            for step in self.program.trace.of(events.Reshard, before=self.step)
        )
