"""The order of a training step: which backward was reduced, and what is clipped when."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.formulas import Formula
from ...domain.guards import TOP
from ...domain.relations import Relation
from ...domain.values import Obj, is_each
from ..shared.program import RELATED, OfStep

SWITCH = "set_requires_gradient_sync"


class StaticStep(OfStep[events.Stepped]):
    """A model as an optimizer's ``step`` finds it."""

    def unsynchronised(self) -> Many[tuple[str, Moment]]:
        """Which gradients are used without having been reduced; unknown where a setting switches it on again."""
        switches = [
            (each, relation)
            for each in self.program.trace.of(events.Sync)
            if each.subject and (relation := self.program.relation(self.obj, each.subject)) is not Relation.NONE
        ]
        backward = self._last_backward() if switches else None
        if backward is None:
            return many((), self.program.nothing(self.obj, events.Sync))
        before = [each for each in switches if each[0].driven_before(backward)]
        if all(each.what.off for each, _ in switches):  # then what an earlier round switched off stays so
            before = before or [each for each in switches if _shared_loop(each[0], backward) is not None]
        if not before or not before[-1][0].what.off:
            return many((), self.program.nothing(self.obj, events.Sync))
        off, relation = before[-1]
        if not self._in_one_run(off):
            if _shared_loop(off, self.step) is not None:
                return many((), unknown(f"whether a later round finds what {off.when.at} switches off is not known"))
            return many((), self.program.excluded(f"{off.when.at} and this step exclude each other"))
        if relation not in RELATED:
            return many((), unknown(f"which groups {off.when.at} switches is not known"))
        why = (
            self.program.managed(self.obj)
            or self._switched_elsewhere(off, backward)
            or next((why for each, _ in switches if (why := self._may_win(each, off, backward))), "")
        )
        label = self.program.label(off.subject) if off.subject else self.label
        if why:
            return many((), unknown(why))
        return many([(label, off.when)], self.program.nothing(self.obj, events.Sync))

    def _last_backward(self) -> Step[events.Backward] | None:
        found = [each for each in self.program.trace.of(events.Backward) if each.driven_before(self.step)]
        return found[-1] if found else None

    def _switched_elsewhere(self, off: Step[events.Sync], backward: Step[events.Backward]) -> str:
        """Why code that was not followed may switch it. It cannot where each switch of the project was seen."""
        seen = {each.when.at for each in self.program.trace.of(events.Sync)}
        mentions = self.program.project.mentions
        if any(mentions(f"{quote}{SWITCH}{quote}{end}") for quote in "\"'" for end in (",", ")(")):
            return "the project asks for the switch by its name, as with getattr"
        if any(mentions(f".{SWITCH}{end}") for end in (",", ")")):
            return "the switch is handed on as a function, and who calls it when is not known"
        if mentions(f".{SWITCH}") <= len(seen):
            return ""
        return self.program.escaped(self.obj, after=off, before=backward)

    def _in_one_run(self, off: Step[events.Sync]) -> bool:
        """May both happen in one run? Conditions on the round of a loop exclude each other in one round only."""
        if off.guard.undriven.compatible(self.step.guard.undriven):
            return True
        invariant = frozenset(part for part in off.guard.literals if not _varies(part[0]))
        path = TOP.join(off.guard.without_literals(off.guard.literal_set - invariant))
        return path is not None and path.compatible(self.step.guard.undriven)

    def _may_win(self, on: Step[events.Sync], off: Step[events.Sync], backward: Step[events.Backward]) -> str:
        """Why another switch than ``off`` may be the last one before the backward, be it of an earlier round."""
        if on.what.off:
            return ""
        why = f"gradient synchronisation may be switched on at {on.when.at}"
        if off.index < on.index < backward.index:
            return why
        again = self._runs_with(off, backward)
        if on.index < off.index:
            return "" if again else why
        shared = _shared_loop(on, backward)
        if shared is None and not self.program.partial:
            return ""  # it comes when all is over
        return "" if again and (shared is None or shared in off.loops) else why

    def _runs_with(self, off: Step[events.Sync], backward: Step[events.Backward]) -> bool:
        """Does ``off`` run each time before the backward runs?"""
        return backward.guard.undriven.implies(off.guard.undriven)


def _varies(formula: Formula) -> bool:
    """Does a condition speak of the round of a loop?"""
    if isinstance(formula, Obj):
        return formula.atom.origin in ("range", "arithmetic", "a counter") or any(map(is_each, formula.path))
    return isinstance(formula, tuple) and any(map(_varies, formula))


def _shared_loop(one: Step[events.InLoops], other: Step[events.InLoops]) -> object | None:
    """The innermost loop in which both lie."""
    shared = [loop for loop in one.loops if loop in other.loops]
    return shared[-1] if shared else None


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
        if why := self.program.managed(self.obj):
            return unknown(why)
        return yes(Place(last[-1].when, f"this step uses the gradients of {self.label}"))

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
