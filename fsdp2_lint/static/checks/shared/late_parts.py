"""Parts that come into a model when it is sharded already."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.declared import record
from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Obj
from .objects import RELATED
from .program import Program
from .structure import has_parameters, leaves


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
                and self._new(part)
                and self._trains(part, attached)
            ):
                found.append((attached.when, str(attached.what.name), before[0].when))
        return found

    def perhaps(self) -> str:
        """Why what is put around sharded parts may bring parameters of its own."""
        for attached, _, part in self._attached():
            if self._new(part):
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

    def _new(self, part: Obj) -> bool:
        """Has it parameters of its own, none of them sharded?"""
        if not has_parameters(self.program.machine, part):
            return False
        return not self.program.has_units(part, Relation.SAME, Relation.CONTAINS, Relation.MAY)

    def _trains(self, part: Obj, attached: AnyStep) -> bool:
        return not any(
            step.index > attached.index and step.together(attached) and self.program.related(step.subject, part)
            for step in self.program.trace.of(events.Frozen)
        )
