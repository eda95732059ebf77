"""Parts that come into a model when it is sharded already."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.declared import record
from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import BELOW, SOME, Obj
from .objects import RELATED
from .program import Program
from .structure import has_parameters, leaves

_AT_OR_BELOW = (Relation.SAME, Relation.CONTAINS)


@record
class LateParts:
    program: Program
    obj: Obj

    def found(self) -> list[tuple[Moment, str, Moment]]:
        """Those that nothing shards afterwards and that are trained: when, as what, and where its place was sharded."""
        found = []
        for attached, owner, part in self._attached():
            before = [
                step for step, _ in self.program.units(owner, Relation.SAME, Relation.INSIDE) if step.precedes(attached)
            ]
            after = [
                step
                for step in self.program.trace.of(events.Sharded)
                if step.index > attached.index and self._touches(step, owner, part)
            ]
            if (
                before
                and not after
                and not self.program.escaped(part, after=attached)
                and self._new(part, attached)
                and self._trains(part, attached)
            ):
                found.append((attached.when, str(attached.what.name), before[0].when))
        return found

    def perhaps(self) -> str:
        """Why what is put around sharded parts may bring parameters of its own."""
        for attached, _, part in self._attached():
            if self._new(part, attached):
                continue
            own = any(leaf.atom.parameter is not None for _, leaf in leaves(self.program.machine, part))
            sharded = [step for step, _ in self.program.units(self.obj, *RELATED)]
            if own and sharded and all(step.precedes(attached) for step in sharded):
                return f"whether {self.program.label(part)} ({attached.when.at}) brings new parameters is not known"
        return ""

    def _attached(self) -> Iterator[tuple[Step[events.Attached], Obj, Obj]]:
        """What becomes a part of it or of its parts: the step, the new holder, and the part."""
        for attached in self.program.trace.of(events.Attached):
            if attached.subject is not None and self.program.top(attached.subject) is self.obj:
                yield attached, attached.subject, attached.what.value

    def _touches(self, step: Step[events.Sharded], owner: Obj, part: Obj) -> bool:
        return any(self.program.touches(at, other) for at in step.what.group for other in (owner, part))

    def _new(self, part: Obj, attached: AnyStep) -> bool:
        """Has it parameters of its own, none of them sharded?"""
        if not has_parameters(self.program.machine, part) or self.program.has_units(part, *_AT_OR_BELOW):
            return False
        around = any(holder is part for holder, _ in self.program.machine.parents.values())  # what was in its place
        units = self.program.units(part, Relation.MAY)
        return not any(
            self._may_be(part, unit) for step, unit in units if around or not self._was_there(unit, step, attached)
        )

    def _was_there(self, unit: Obj, step: AnyStep, attached: AnyStep) -> bool:
        """Was another module sharded in the place of the part, before that one came?"""
        return step.index < attached.index and self.program.top(unit) is self.obj

    def _may_be(self, part: Obj, unit: Obj) -> bool:
        """May what is sharded be the part, or lie in it? One block of several, in which it lies, is neither."""
        mine, its = (self.program.address(each)[1] for each in (part, unit))
        return len(its) >= len(mine) or any(str(item).startswith(BELOW) or item == SOME for item in its)

    def _trains(self, part: Obj, attached: AnyStep) -> bool:
        return not any(
            step.index > attached.index and step.together(attached) and self.program.related(step.subject, part)
            for step in self.program.trace.of(events.Frozen)
        )
