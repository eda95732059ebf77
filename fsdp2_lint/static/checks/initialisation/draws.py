"""Random numbers for shards that lie on the CPU, where each rank draws from a generator of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import atoms
from ...domain.relations import Relation
from ...domain.values import ParamV
from ...libraries.torch.initialisation.blank import of_buffers
from ..launch.collectives import excluded_ranks
from ..shared.conditions import objects_in
from .initial_weights import fills_tensors
from .initialisation import WRITES, StaticEmptied


@dataclass(eq=False)
class StaticDrawn(StaticEmptied):
    """A model that gets memory at ``emptied`` and random numbers at ``begin``, in runs in which ``call`` runs it."""

    emptied: Step[events.Emptied]

    def same_numbers(self) -> Answer[Place]:
        """Unknown where ranks may seed for themselves, or where the parameters may get other values afterwards."""
        if not self._sharded_before():
            return unknown(f"whether {self.label} is sharded before it gets its memory is not known")
        if self.emptied.what.to != "cpu":
            if self.emptied.what.to == "cuda":
                return self.program.excluded("the shards lie on GPUs, where ranks draw different numbers for them")
            return unknown("on which device the shards lie is not known")
        # what is not seen may set other seeds
        if (own := self._seed) is not None and own.what.by_rank and self.program.seen_whole:
            return self.program.excluded(f"each rank has a seed of its own ({own.when.at})")
        why = self._seeds_unclear() or self._written_later() or self.not_followed()
        return unknown(why) if why else yes(Place(self.emptied.when, "the shards get their memory on the CPU here"))

    def _sharded_before(self) -> bool:
        units = self.program.units(self.obj, Relation.SAME, Relation.INSIDE)
        return any(step.index < self.emptied.index and step.precedes(self.begin) for step, _ in units)

    def _seeds_unclear(self) -> str:
        """Why ranks may draw different numbers; without a seed they surely do."""
        if excluded_ranks(self.program, self.begin).possibly:
            return "some ranks may draw nothing"
        if self._seed is None:
            return "no seed was seen that all ranks set before the shards are drawn"
        if self._seed.what.differs is not False or self._seed.what.by_rank:
            return f"whether all ranks set one seed at {self._seed.when.at} is not known"
        return ""

    @cached_property
    def _seed(self) -> Step[events.Seeded] | None:
        """What each run gives torch's generator last, before the shards are drawn."""
        seeds = [step for step in self.program.trace.of(events.Seeded) if "torch" in step.what.generators]
        last = next((step for step in reversed(seeds) if step.index < self.begin.index), None)
        return last if last is not None and self.begin.guard.implies(last.guard) else None

    def _written_later(self) -> str:
        """Why nothing of what is drawn may be left when the model runs, in any run."""
        kinds = (*WRITES, events.StateSet, events.Emptied, events.Moved, events.Exchanged, events.Collective)
        later = [
            step
            for step in self.program.trace.of(*kinds)
            if self.begin.index < step.index < self.call.index and self._overwrites(step)
        ]
        return f"{self.label} may get other values after it is drawn" if self.without(later) is None else ""

    def _overwrites(self, step: AnyStep) -> bool:
        """May it write what is drawn: another part is none of it, nor is the bias all of a layer."""
        part = step.subject
        if isinstance(step.what, events.Collective):
            return fills_tensors(step.what)
        if part is None or step.place == self.begin.place:
            return part is None
        if self._is_of_others(step):
            return False
        bias = part.item == "bias" and part.parent is self.begin.subject
        return not bias and not of_buffers(part) and self.program.touches(self.begin.subject, part)

    def _is_of_others(self, step: AnyStep) -> bool:
        """Does a question about each parameter decide between the two, such as how many dimensions it has?"""
        apart = [formula for formula, truth in step.guard.literals if self.begin.guard.decide(formula) is (not truth)]
        asked = [obj for formula in apart for atom in atoms(formula) for obj in objects_in(atom)]
        return bool(asked) and all(any(isinstance(each, ParamV) for each in obj.atom.operands) for obj in asked)


def draws_of(fresh: StaticEmptied, emptied: Step[events.Emptied]) -> Iterator[StaticDrawn]:
    """What is drawn for a model, or a part of it, between ``emptied`` and its first call."""
    program = fresh.program
    for drawn in program.trace.of(events.Drawn, after=emptied):
        if drawn.index < fresh.call.index and program.related(fresh.obj, drawn.subject):
            yield StaticDrawn(program, fresh.obj, drawn, fresh.call, fresh.end, emptied)
