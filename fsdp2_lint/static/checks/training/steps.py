"""The order of a training step: which backward was reduced, and what is clipped when."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, No, Unknown, many, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Const, Obj
from ..sharding.options import in_replicas
from ..shared.program import OfStep
from ..shared.switches import ALL_REDUCE, FINALIZE, FINISH, SYNC, LeftOff, called_unseen


class StaticStep(OfStep[events.Stepped]):
    """A model as an optimizer's ``step`` finds it."""

    def unsynchronised(self) -> Many[tuple[str, Place]]:
        """Which gradients are used without having been reduced; unknown where a setting switches it on again."""
        found, rest = LeftOff(self.program, self.step, self.obj, SYNC).found()
        for switch, why_not in ((ALL_REDUCE, self._one_replica), (FINALIZE, self._finalized)):
            if found or isinstance(rest, Unknown):
                break
            found, other = LeftOff(self.program, self.step, self.obj, switch).found()
            harmless = why_not() if found else None
            rest = harmless or (other if found or isinstance(other, Unknown) else rest)
            found = found if harmless is None else []
        if found and isinstance(why := self._finished(), Unknown):
            return many((), why)
        return many(found, rest)

    def _one_replica(self) -> No | Unknown | None:
        """Why there is nothing to reduce over replicas; None where there is."""
        replicas = in_replicas(self.program, self.obj)
        return None if replicas.surely else replicas.denied()

    def _finalized(self) -> No | Unknown | None:
        """Why the last backward is finished all the same; None where nothing does that."""
        if (answer := self._finished()) is not None:
            return answer
        why = self.program.escaped(self.obj)
        return unknown(why) if why else None

    def _finished(self) -> No | Unknown | None:
        """The same of what is written in the project."""
        for each in self.program.trace.of(events.Finalized):
            if self.program.touches(self.obj, each.subject):
                always = self.step.guard.undriven.implies(each.guard.undriven)
                if each.precedes(self.step) and always and not self._backward_between(each):
                    if not each.what.waits:
                        return unknown(f"whether anything waits for the handle of {each.when.at} is not known")
                    return self.program.excluded(f"the backward is finished at {each.when.at}")
                return unknown(f"which backward {each.when.at} finishes is not known")
        why = called_unseen(self.program, FINISH, self.program.trace.of(events.Finalized))
        return unknown(why) if why else None

    def _backward_between(self, early: AnyStep) -> bool:
        return any(early.index < each.index < self.step.index for each in self.program.trace.of(events.Backward))


class StaticClip(OfStep[events.Clipped]):
    """The models of one call that clips."""

    def used_before(self) -> Answer[Place]:
        """All its optimizers must have made their step, and none makes one before the next backward."""
        optimizers = list(self._optimizers())
        steps = [each for each in self.program.trace.of(events.Stepped) if each.subject in optimizers]
        if not steps:
            return self.program.nothing(self.obj, events.Stepped, before=self.step)
        last = [each for each in steps if each.precedes(self.step)]
        if not last or self._backward_between(last[-1], self.step) or self._later_step():
            return self.program.nothing(self.obj, events.Backward, events.Stepped, before=self.step)
        if why := self.program.managed(self.obj) or self.program.called_back(self.step):
            return unknown(why)
        return yes(Place(last[-1].when, f"this step uses the gradients of {self.label}"))

    def by_its_own_norm(self) -> Answer[Place]:
        stages = [each for each in self.program.trace.of(events.Pipelined, before=self.step) if self._is_in(each)]
        if not stages:
            return self.program.nothing(self.obj, events.Pipelined, before=self.step)
        if self.step.what.by == "clip_grad_value_" or stages[0].what.stages == Const(1):
            return self.program.excluded("the pipeline has one stage, or each number is clipped alone")
        bound = self.step.what.bound
        if self.step.what.by != "clip_grad_norm_":
            return unknown("whose norm it is that they are clipped by is not known")
        if isinstance(bound, Obj) and bound.atom.kind in ("unknown", "opaque"):
            return unknown("the norm that they are clipped to is computed, perhaps from those of all stages")
        if why := self.program.managed(self.obj):
            return unknown(why)
        return yes(Place(stages[0].when, "it becomes a stage of the pipeline here"))

    def _is_in(self, stage: Step[events.Pipelined]) -> bool:
        relations = (self.program.relation(held.model, stage.subject) for held in self.step.what.held)
        return any(each in (Relation.SAME, Relation.INSIDE) for each in relations)

    def _optimizers(self) -> Iterator[Obj]:
        for created in self.program.trace.of(events.Optimizer):
            for mine in self.step.what.held:
                if any(self.program.related(held.model, mine.model) for held in created.what.held):
                    assert created.subject is not None
                    yield created.subject

    def _backward_between(self, early: AnyStep, late: AnyStep) -> bool:
        return any(early.index < each.index < late.index for each in self.program.trace.of(events.Backward))

    def _later_step(self) -> bool:
        """Is there a step behind it, of whatever optimizer, that may use what was clipped?"""
        return any(
            each.index > self.step.index and each.together(self.step) and not self._backward_between(self.step, each)
            for each in self.program.trace.of(events.Stepped)
        )
