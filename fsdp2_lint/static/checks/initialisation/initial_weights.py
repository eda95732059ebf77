"""The weights with which the ranks start: of some ranks only, or drawn by each for itself."""

from __future__ import annotations

from dataclasses import dataclass

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.values import Obj
from ...libraries.torch.ranks.seeds import Built
from ..launch.process import excluded_ranks
from ..sharding.options import has_replicas
from ..shared.program import Handle, Program
from ..shared.structure import has_parameters
from .initialisation import StaticEmptied

FILLING = ("broadcast", "scatter", "dcp.load")  # collectives that may give every rank the same weights


@dataclass(frozen=True, slots=True)
class StaticInitialWeights(Handle):
    """A model that ``sharding`` cuts first, and that ``call`` runs."""

    program: Program
    obj: Obj
    sharding: Step[events.Sharded]
    call: AnyStep

    def loaded_by_some(self) -> Answer[Place]:
        """Do some ranks alone load it before it is sharded? Unknown where its weights may come from elsewhere."""
        if excluded_ranks(self.program, self.sharding).possibly:
            return self.program.excluded("the ranks that do not load it do not shard it either")
        for load in self.program.trace.of(events.Loaded, before=self.sharding):
            if not self._is_this(load):
                continue
            some = excluded_ranks(self.program, load)
            if not some.surely:
                continue
            others = [step for step in self._filled(since=0) if step is not load]
            if StaticEmptied(self.program, self.obj, load, self.call, self.call).without(others) is None:
                return unknown(f"{self.label} gets weights at several places")
            if why := self._not_followed(load):
                return unknown(why)
            return yes(Place(load.when, f"loaded where {some.what[1]} only"))
        return self.program.nothing(self.obj, events.Loaded, before=self.call)

    def seeded_by_rank(self) -> Answer[Place]:
        drawn = self.obj.atom.state(Built)
        if drawn is None or self.obj.parent is not None or not has_parameters(self.program.machine, self.obj):
            return unknown(f"where {self.label} is built was not seen")
        seeds = [step for step in self.program.trace.of(events.Seeded, before=self.sharding) if step.index < drawn.at]
        if not seeds or not seeds[-1].what.by_rank or not self.sharding.guard.implies(seeds[-1].guard):
            return self.program.nothing(self.obj, events.Seeded, before=self.call)
        if self._filled(since=drawn.at) or any(
            isinstance(step.what, events.Loaded) for step in self._filled(since=seeds[-1].index)
        ):
            return self.program.excluded(f"{self.label} gets other weights afterwards")
        why = self._not_followed(seeds[-1])
        return unknown(why) if why else yes(Place(seeds[-1].when, "each rank sets a seed of its own here"))

    def replicated(self) -> Answer[object]:
        return has_replicas(self.sharding)

    def _is_this(self, step: AnyStep) -> bool:
        return self.program.touches(self.obj, step.subject)

    def _filled(self, since: int) -> list[AnyStep]:
        """What may give it other weights."""
        steps = self.program.trace.of(
            events.Loaded, events.Written, events.StateSet, events.Meta, events.Emptied, events.Wrapped
        )
        found = [step for step in steps if step.index >= since and (step.subject is None or self._is_this(step))]
        return [step for step in found if step.index < self.call.index or step.context]

    def _not_followed(self, begin: AnyStep) -> str:
        for step in self.program.trace.of(events.Collective):
            if begin.index < step.index < self.call.index and str(step.what.name).startswith(FILLING):
                return f"{step.what.name} may give all ranks the same weights ({step.when.at})"
        return self.program.open_why or self.program.escaped(self.obj, before=self.call) or self.program.managed_by
