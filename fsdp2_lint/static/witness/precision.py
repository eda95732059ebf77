"""The precision in which groups compute, and in which their weights are kept."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.precision import PoliciesTaken, WeightsTrained
from .. import events
from ..handles import Program, StaticModel
from ..handles.policies import StaticPolicies
from ..handles.precision import StaticMasters
from ..trace import Step
from ..values import Obj
from .producers import on


@on(events.Sharded)
def policies(program: Program, step: Step[events.Sharded]) -> Iterator[Event]:
    if step.what.group:
        yield PoliciesTaken(when=step.when, policies=StaticPolicies(program, step, step.what.group[0]))


@on(events.Optimizer)
def masters(program: Program, step: Step[events.Optimizer]) -> Iterator[Event]:
    """Once for each model, if anything of it is sharded at all."""
    seen: set[Obj] = set()
    optimizer = step.subject
    for held in step.what.held if step.what.proven else ():
        top = program.top(held.model)
        if optimizer is not None and top not in seen and program.concerned(held.model):
            seen.add(top)
            weights = StaticMasters(program, step, optimizer, held)
            yield WeightsTrained(when=step.when, optimizer=weights, model=StaticModel(program, top))
