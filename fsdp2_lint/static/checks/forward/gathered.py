"""What the source leaves gathered by hand: by ``unshard()``, or by a setter that keeps it so after backward."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Many, many, unknown
from ....vocab.declared import record
from ....vocab.live import KEEPS, UNSHARD, Leftover
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Obj
from ..shared.program import OfStep, Program, Subject
from ..shared.switches import RESHARD, LeftOff, switched, trained_by
from .forward import AROUND, Group, concerns, group_of


@record
class StaticUnsharded(Subject):
    """The module that ``unshard`` gathers after the last backward, and an optimizer that steps then."""

    program: Program
    obj: Obj
    unshard: Step[events.Unshard]
    at: AnyStep  # where it matters that it is gathered
    until: AnyStep | None = None  # None: also after that

    def stale(self) -> Many[Leftover]:
        """``reshard()`` is not recursive: only that of the module itself counts."""
        program = self.program
        for each in program.trace.of(events.Reshard):
            if self.until is not None and not self.unshard.index < each.index < self.until.index:
                continue
            relation = program.relation(each.subject, self.obj) if each.together(self.unshard) else Relation.NONE
            if relation is Relation.SAME:
                return many((), program.excluded(f"{self.label} is resharded at {each.when.at}"))
            if relation is Relation.MAY:
                return many((), unknown(f"whether {each.when.at} reshards {self.label} is not known"))
        group = group_of(program, self.obj, self.unshard)
        if not isinstance(group, Group) or not group.is_made_of(self.obj):
            return many((), unknown(group if isinstance(group, str) else f"{self.label} is in no group of its own"))
        if why := program.managed(self.obj) or program.escaped(self.obj):
            return many((), unknown(why))
        left = Leftover(self.label, self.unshard.when, self.at.when, UNSHARD)
        return many([left], program.nothing(self.obj, events.Unshard, events.Reshard))


class StaticKept(OfStep[events.Stepped]):
    """A model as a step finds it, of which a setter may keep all groups gathered after backward."""

    def stale(self) -> Many[Leftover]:
        found, rest = LeftOff(self.program, self.step, self.obj, RESHARD).found()
        if found and (why := self.program.escaped(self.obj, before=self.step)):
            return many((), unknown(why))
        for each in self.program.trace.of(events.Reshard):
            if found and self.program.touches(self.obj, each.subject):
                return many((), unknown(f"which groups {each.when.at} reshards is not known"))
        return many((Leftover(label, off.when, self.step.when, KEEPS) for label, off in found), rest)


def unsharded(program: Program, at: AnyStep) -> Iterator[Step[events.Unshard]]:
    """Calls of ``unshard`` since the last backward: the backward itself would have resharded it again."""
    for each in program.trace.of(events.Unshard):
        if each.subject is not None and since_backward(program, each, at):
            yield each


def since_backward(program: Program, step: AnyStep, at: AnyStep) -> bool:
    """Does it come after a backward and before ``at``, with no other backward in between on any path?"""
    backwards = list(program.trace.of(events.Backward))
    return (
        step.precedes(at)
        and any(each.precedes(step) for each in backwards)
        and not any(step.index < each.index < at.index for each in backwards)
    )


def by_hand(program: Program, step: Step[events.Stepped]) -> Iterator[tuple[Obj, StaticKept | StaticUnsharded]]:
    """What may be gathered while an optimizer steps: (the module, who says so)."""
    if next(switched(program, RESHARD), None) is not None:
        for top in trained_by(program, step.subject):
            yield top, StaticKept(program, step, top)
    for each in unsharded(program, step):
        held = program.held_by.get(step.subject, ())
        if each.subject is not None and any(program.relation(model, each.subject) in AROUND for model in held):
            yield each.subject, StaticUnsharded(program, each.subject, each, step)


def next_forward(program: Program, module: Obj, stepped: Step[events.Stepped]) -> AnyStep | None:
    """The forward of the module, or of a model around it, that comes after a step, be it in the next round."""
    called = program.trace.of(events.Called)
    forwards = [each for each in called if each.what.hooked and concerns(program, each, module)]
    later = (each for each in forwards if stepped.precedes(each))
    again = (each for each in forwards if stepped.loops and each.what.looped and each.index < stepped.index)
    return next(later, None) or next(again, None)
