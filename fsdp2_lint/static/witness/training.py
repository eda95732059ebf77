"""Optimizers and what they hold."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.training import OptimizerSettled
from .. import events
from ..handles import Program, StaticModel, StaticOptimizer
from ..values import Obj
from .producers import at_end


@at_end
def settled_optimizers(program: Program) -> Iterator[Event]:
    seen: set[tuple[Obj, Obj]] = set()
    sharded = {program.top(obj) for step in program.trace.of(events.Sharded) for obj in step.what.group}
    for step in program.trace.of(events.Optimizer):
        assert step.subject is not None
        for held in step.what.held:
            top = program.top(held.model)
            if top in sharded and (step.subject, top) not in seen:
                seen.add((step.subject, top))
                optimizer = StaticOptimizer(program, step.subject, top)
                yield OptimizerSettled(when=step.when, optimizer=optimizer, model=StaticModel(program, top))
