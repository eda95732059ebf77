"""The weights with which the ranks start: of some ranks only, or drawn by each for itself."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import ListV, Loaded, Obj, TupleV
from ...libraries.computed import is_plain
from ...libraries.torch.initialisation.draws import may_draw
from ...libraries.torch.ranks.seeds import Built
from ..launch.collectives import excluded_ranks
from ..ranks.alike import same_on_all_ranks
from ..sharding.options import has_replicas
from ..shared.program import Program, Subject
from ..shared.structure import has_parameters, leaves, owns_parameters
from .initialisation import StaticEmptied

_PICKLED = frozenset({"broadcast_object_list()", "scatter_object_list()"})
_FILLING = ("broadcast", "scatter", "dcp.load")  # collectives that may give every rank the same weights


def is_common(program: Program, seed: Step[events.Seeded]) -> bool:
    """Do all ranks surely set the same seed here?"""
    return seed.what.given is not None and same_on_all_ranks(program, seed.what.given, settings=True)


def _replaced_by(load: AnyStep, step: AnyStep) -> bool:
    """Has it surely filled the model before the load, which leaves nothing of that to the ranks that load?"""
    return step.index < load.index and load.guard.implies(step.guard)


@record
class StaticInitialWeights(Subject):
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
            others = [step for step in self._filled(since=0) if step is not load and not _replaced_by(load, step)]
            loaded = StaticEmptied(self.program, self.obj, load, self.call, self.call)
            if loaded.without(others) is None:
                return unknown(f"{self.label} gets weights at several places")
            why = self._unseen()
            if loaded.without([*others, *self._filling(load)]) is None or why:
                return unknown(self._not_followed(load) or why)
            return yes(Place(load.when, f"loaded on {some.what[1]} only"))
        return self.program.nothing(self.obj, events.Loaded, before=self.call)

    def seeded_by_rank(self) -> Answer[Place]:
        drawn = self.obj.atom.state(Built)
        if drawn is None or self.obj.parent is not None or not has_parameters(self.program.machine, self.obj):
            return unknown(f"where {self.label} is built was not seen")
        seeds = [
            step
            for step in self.program.trace.of(events.Seeded, before=self.sharding)
            if step.index < drawn.at and "torch" in step.what.generators
            if step.guard.compatible(self.sharding.guard)
        ]
        apart = self._apart(seeds)
        if apart is None and (not seeds or is_common(self.program, seeds[-1])):
            return self.program.nothing(self.obj, events.Seeded, before=self.call)
        seed = apart or seeds[-1]
        loads = [step for step in self._filled(since=seed.index) if isinstance(step.what, events.Loaded)]
        again = list(dict.fromkeys([*loads, *self._filled(since=drawn.at)]))
        found = self._replaced(seed, again) if again else self._seeded(seed)
        if found.possibly and apart is None:
            return unknown(f"whether {seed.when.at} sets the same seed on all ranks is not known")
        return found

    def _apart(self, seeds: list[Step[events.Seeded]]) -> Step[events.Seeded] | None:
        """The seed by rank that is surely set; what may be set after it is by rank, too."""
        for step in reversed(seeds):
            if not step.what.by_rank:
                return None
            # what ended the program early leaves a mark on the seed, and none behind the function that sets it
            if self.sharding.guard.implies(step.guard if step.guard.blurred else step.guard.unforked):
                return step
        return None

    def _seeded(self, seed: Step[events.Seeded]) -> Answer[Place]:
        why = self._not_followed(seed)
        return unknown(why) if why else self._unless_unseen(seed)

    def _unless_unseen(self, seed: Step[events.Seeded]) -> Answer[Place]:
        why = self._unseen()
        return unknown(why) if why else yes(Place(seed.when, "each rank sets a seed of its own here"))

    def _keeps_its_own(self, layer: Obj, again: list[AnyStep]) -> bool:
        """Is it no part of what gets other weights?"""
        return not any(step.subject is None or self.program.touches(layer, step.subject) for step in again)

    def _replaced(self, seed: Step[events.Seeded], again: list[AnyStep]) -> Answer[Place]:
        """No, where each run gives all that was drawn other weights; unknown where a part may keep its own."""
        drawn = StaticEmptied(self.program, self.obj, seed, self.call, self.call)
        sure = [step for step in again if not (drawn.leaves_some(step) or self._draws(step) or _is_own(step))]
        layers = [layer for _, layer in leaves(self.program.machine, self.obj) if may_draw(layer)]
        whole = not layers or self.program.parts_unseen(self.obj)
        if not whole and any(self._keeps_its_own(layer, again) for layer in layers):
            return self._seeded(seed)
        for layer in [self.obj] if whole else layers:
            writers = [[step for step in sure if self._writes(step, layer, name)] for name in ("weight", "bias")]
            if not all(map(drawn.surely_by, writers)):
                others = [step for step in again if not self._redrawn(step)]
                if drawn.without([*others, *self._filling(seed)]) is not None:
                    return self._unless_unseen(seed)
                return unknown(f"whether {again[-1].when.at} gives all of {self.label} other weights is not known")
        return self.program.excluded(f"{self.label} gets other weights afterwards")

    def _writes(self, step: AnyStep, layer: Obj, name: str) -> bool:
        """Does it write the parameter, its layer, or a larger part: that as a whole, or in a loop one by one?"""
        if step.subject is None:
            return False
        written = step.subject.parent if step.subject.item == "data" else step.subject
        relation = self.program.relation(written, layer)
        one_by_one = isinstance(step.what, events.Written) and not owns_parameters(layer)
        if relation is Relation.SAME and not one_by_one or written is layer.child(name):
            return True
        at_once = not isinstance(step.what, events.Written) or bool(self.program.loops(step))
        return at_once and relation in (Relation.SAME, Relation.CONTAINS)

    def _redrawn(self, step: AnyStep) -> bool:
        """Are its values surely drawn, as those before, by the seed of the rank?"""
        return self._draws(step) and step.place in [each.place for each in self.program.trace.of(events.Drawn)]

    def _draws(self, step: AnyStep) -> bool:
        """May it draw its values, as those before, by the seed of the rank?"""
        if not isinstance(step.what, events.Written) or not step.what.in_place:
            return False
        seeds = [seed for seed in self.program.trace.of(events.Seeded, before=step) if "torch" in seed.what.generators]
        if seeds and seeds[-1].what.differs is False:
            return False
        drawn = [each.place for each in self.program.trace.of(events.Drawn)]
        return not self.sharding.precedes(step) or step.place in drawn

    def replicated(self) -> Answer[object]:
        return has_replicas(self.sharding)

    def _is_this(self, step: AnyStep) -> bool:
        return self.program.touches(self.obj, step.subject)

    def _filled(self, since: int) -> list[AnyStep]:
        """What may give it other weights, in a run in which it is sharded."""
        steps = self.program.trace.of(
            events.Loaded, events.Written, events.StateSet, events.Meta, events.Emptied, events.Wrapped
        )
        found = [step for step in steps if step.index >= since and (step.subject is None or self._is_this(step))]
        found = [step for step in found if step.guard.compatible(self.sharding.guard)]
        return [step for step in found if step.index < self.call.index or step.context]

    def _not_followed(self, begin: AnyStep) -> str:
        for step in self._filling(begin):
            return f"{step.what.name} may give all ranks the same weights ({step.when.at})"
        return self._unseen()

    def _filling(self, begin: AnyStep) -> list[Step[events.Collective]]:
        return [
            step
            for step in self.program.trace.of(events.Collective)
            if begin.index < step.index < self.call.index and fills_tensors(step.what)
            if step.guard.compatible(self.sharding.guard) and not self._of_texts(step)
        ]

    def _of_texts(self, step: Step[events.Collective]) -> bool:
        """Do the ranks tell each other a name or a number, such as that of a checkpoint?"""
        machine = self.program.machine
        given = (leaf for value in step.what.given or () for _, leaf in machine.leaves(value))
        told = [leaf for leaf in given if not isinstance(leaf, (ListV, TupleV))]
        return step.what.given is not None and all(map(is_plain, told))

    def _unseen(self) -> str:
        return self.program.open_why or self.program.escaped(self.obj, before=self.call) or self.program.managed_by


def fills_tensors(made: events.Collective) -> bool:
    """What is pickled is received as another object, which has to be loaded; that is a step of its own."""
    return made.name.startswith(_FILLING) and made.name not in _PICKLED


def _is_own(step: AnyStep) -> bool:
    """Does each rank load what it alone has saved?"""
    payload = step.what.payload if isinstance(step.what, events.Loaded) else None
    return isinstance(payload, Loaded) and payload.per_rank is True
