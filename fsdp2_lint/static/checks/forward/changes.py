"""Weights that are written between a forward and its backward."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Ext, Obj
from ...libraries.torch.sharding.module_tree import FREE
from ..shared.program import Program, Subject

WRITES = (events.Loaded, events.StateSet, events.Changed)
_EMBEDDINGS = ("torch.nn.Embedding", "torch.nn.EmbeddingBag")
_FREE = frozenset(f"torch.nn.{name}" for name in FREE)


@record
class StaticPass(Subject):
    """``backward``, and the last ``forward`` of a model before it; ``calls``: of modules since the backward before."""

    program: Program
    obj: Obj
    forward: Step[events.Called]
    backward: Step[events.Backward]
    calls: tuple[Step[events.Called], ...]

    def changed(self) -> Answer[Place]:
        """Unknown where the gradients may be of something else, or where a second write may put things right."""
        writes = self._between()
        if not writes:
            return self.program.nothing(self.obj, *WRITES, after=self.forward, before=self.backward)
        why = self._unclear(writes[0]) or self.program.escaped(self.obj, after=self.forward, before=self.backward)
        if len({step.when for step in writes}) > 1:
            why = why or f"whether {writes[-1].when.at} puts back what {writes[0].when.at} wrote is not known"
        if why := why or self.program.managed(self.obj):
            return unknown(why)
        return yes(Place(self.forward.when, f"the parameters of {self.label}"))

    def writes(self) -> Many[Place]:
        places = (Place(step.when, "they are written here") for step in self._between())
        return many(places, self.program.among(*WRITES))

    def _between(self) -> list[AnyStep]:
        return [
            step
            for step in self.program.trace.of(*WRITES)
            if self.forward.index < step.index < self.backward.index
            and self.program.touches(self.obj, step.subject)
            and step.guard.compatible(self.backward.guard)
        ]

    def _unclear(self, write: AnyStep) -> str:
        other = next((call for call in self.calls if not self.program.touches(self.obj, call.subject)), None)
        if other is not None:
            return f"whether the gradients are of {self.label} is not known: {other.when.at} calls another module"
        if any(call.when != self.forward.when and self.program.touches(self.obj, call.subject) for call in self.calls):
            return f"of which forward of {self.label} the gradients are is not known"
        in_turn = self.forward.precedes(write) and write.precedes(self.backward)
        some = isinstance(write.what, events.Changed) and not self._all_written(write)
        if some or not in_turn or not self.program.related(self.obj, write.subject):
            return f"whether {write.when.at} writes parameters of {self.label} between the two is not known"
        return ""

    def _all_written(self, write: AnyStep) -> bool:
        """Not where conditions may choose some of them; and no gradient depends on the weight of an embedding."""
        cls = write.subject.atom.cls if write.subject is not None else None
        embedding = isinstance(cls, Ext) and cls.qname in _EMBEDDINGS
        return not embedding and self.backward.guard.implies(write.guard)


def passes(program: Program, backward: Step[events.Backward]) -> Iterator[StaticPass]:
    """The models that ran before a backward, where something of theirs is written in between."""
    written = [step for step in program.trace.of(*WRITES, before=backward) if step.subject is not None]
    if not written:
        return
    same_run = backward.guard.compatible  # one call on several paths is a step on each
    before = [step.index for step in program.trace.of(events.Backward, before=backward) if same_run(step.guard)]
    calls = tuple(
        call
        for call in program.trace.of(events.Called, before=backward)
        if call.index > max(before, default=-1)
        and not (call.what.inside or _is_free(call))
        and call.what.recorded
        and same_run(call.guard)
    )
    last = {call.subject: call for call in calls if call.subject is not None and _runs_sharded(program, call)}
    for obj, forward in last.items():
        if any(forward.index < step.index and program.touches(obj, step.subject) for step in written):
            yield StaticPass(program, obj, forward, backward, calls)


def _runs_sharded(program: Program, call: Step[events.Called]) -> bool:
    obj = call.subject
    return call.what.hooked and obj is not None and program.has_units(obj, Relation.SAME, Relation.CONTAINS)


def _is_free(call: Step[events.Called]) -> bool:
    """Is it a module of torch without parameters, such as a loss?"""
    cls = call.subject.atom.cls if call.subject is not None and call.subject.parent is None else None
    return isinstance(cls, Ext) and cls.qname in _FREE
