"""Is a module trained: by which optimizer, from which backward pass on, or is it frozen?"""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ...domain import events
from ...domain.events import AnyStep
from ...domain.relations import Relation
from ...domain.values import Obj
from .objects import RELATED
from .program import Program, Subject


@record
class Trained(Subject):
    program: Program
    obj: Obj

    def trained(self) -> Answer[object]:
        if optimizer := self.optimizer():
            return yes(optimizer.when)
        if self.frozen():
            return self.program.excluded(f"{self.label} is frozen")
        step = self.first_backward()
        return yes(step.when) if step is not None else unknown(f"no step was seen that trains {self.label}")

    def first_backward(self) -> AnyStep | None:
        """The first backward pass through it: what is sharded later comes too late for that one."""
        called = [step for step in self.program.trace.of(events.Called) if self.program.related(self.obj, step.subject)]
        backward = self.program.trace.of(events.Backward)
        return next((step for step in backward if any(call.precedes(step) for call in called)), None)

    def frozen(self) -> Answer[object]:
        if not self.optimizer():
            for step in self.program.trace.of(events.Frozen, events.Evaluated):
                relation = self.program.relation(self.obj, step.subject)
                if relation in (Relation.SAME, Relation.INSIDE) and self.is_sharded_where(step):
                    return yes(step.when)
        return self.program.among(events.Frozen)

    def is_sharded_where(self, step: AnyStep) -> bool:
        """Is it sharded on a path on which this happens too?"""
        units = self.program.units(self.obj, *RELATED, Relation.MAY)
        return any(step.together(sharding) for sharding, _ in units)

    def optimizer(self) -> AnyStep | None:
        """One that holds parameters of it."""
        for step in self.program.trace.of(events.Optimizer):
            if any(self.program.related(self.obj, held.model) for held in step.what.held):
                return step
        return None
