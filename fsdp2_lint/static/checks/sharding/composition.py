"""A module at the moment at which something else than ``fully_shard`` takes hold of it."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.relations import Relation, covers
from ...domain.values import Obj
from ..shared.program import OfStep

_LEFT_ALONE = "_ddp_params_and_buffers_to_ignore"


@record
class StaticComposition(OfStep[events.Event]):
    around: tuple[Relation, ...] = (Relation.SAME, Relation.CONTAINS)  # how it stands to what is sharded
    read: int | None = None  # since when the parameters are held

    def sharded_before(self) -> Answer[Place]:
        """Was it sharded before something else took hold of it? Unknown where the order of the two is not known."""
        if self.obj in self.program.machine.store.fields and _LEFT_ALONE in self.program.machine.store.fields[self.obj]:
            return unknown(f"{_LEFT_ALONE} leaves some parameters of {self.label} alone")
        what = self.step.what
        passed = what.filtered_as if isinstance(what, events.Checkpointed) else None
        if passed is not None and isinstance(passed.what, events.Sharded):
            return yes(Place(passed.when))  # the filter lets through just what this call was given
        splits = what.splits if isinstance(what, events.Parallelised) else True
        if splits is False:
            return self.program.excluded("the plan prepares inputs and outputs, and leaves the parameters alone")
        may = ""
        for earlier, part in self.program.units(self.obj, *self.around, Relation.MAY):
            if not earlier.precedes(self.step) or self.read is not None and self.read <= earlier.index:
                continue
            if splits is None:
                may = "whether the plan splits parameters is not known"
            elif self.read is not None and "ignored_params" in earlier.what.options:
                may = "some parameters are ignored"
            elif self._perhaps_another(part) or earlier.guard.blurred - self.step.guard.blurred:
                may = f"whether {self.label} is sharded by {earlier.when.at} is not known"
            elif gathered := self._gathered(earlier):
                may = gathered
            else:
                return yes(Place(earlier.when))
        return unknown(may) if may else self.program.nothing(self.obj, events.Sharded, before=self.step)

    def compiled_before(self) -> Answer[Place]:
        """Was this very module compiled? What lies in it may be, and what it lies in is compiled when it runs."""
        may = ""
        for earlier in self.program.trace.of(events.Compiled, before=self.step):
            relation = self.program.relation(self.obj, earlier.subject)
            if relation is Relation.SAME and earlier.precedes(self.step):
                if not earlier.guard.blurred - self.step.guard.blurred:
                    return yes(Place(earlier.when))
                relation = Relation.MAY
            if relation is Relation.MAY:
                may = f"whether {earlier.when.at} compiles {self.label} is not known"
        return unknown(may) if may else self.program.nothing(self.obj, events.Compiled, before=self.step)

    def _perhaps_another(self, part: Obj) -> bool:
        """Is what is sharded perhaps no part of this? One of several is, where each of them is sharded."""
        address = self.program.address
        return self.program.relation(self.obj, part) is Relation.MAY and not covers(address(part), address(self.obj))

    def _gathered(self, sharding: AnyStep) -> str:
        """What may have put its whole parameters back by then, for a plan that splits them."""
        if not isinstance(self.step.what, events.Parallelised):
            return ""
        for step in self.program.trace.of(events.Unshard, before=self.step):
            if step.index > sharding.index and self.program.touches(step.subject, self.obj):
                return f"{step.when.at} may gather its parameters before"
        return ""

    def outermost(self) -> Answer[Place]:
        """Of what is sharded: whoever holds it, a trainer or a module of a framework, gathers nothing."""
        if self.program.has_units(self.obj, Relation.INSIDE):
            return self.program.excluded(f"{self.label} lies inside what is sharded")
        return yes(Place(self.step.when))
