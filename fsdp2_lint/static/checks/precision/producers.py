"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.precision import PoliciesTaken, ScalerStepped, WeightsTrained
from ...domain import events
from ...domain.events import Step
from ...domain.values import Obj
from ...libraries.torch.precision.precision import Scaler
from ..shared.models import StaticModel
from ..shared.producers import on
from ..shared.program import Program
from .policies import StaticPolicies
from .precision import StaticMasters
from .scalers import StaticScaler


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


@on(events.Scaled)
def scaled(program: Program, step: Step[events.Scaled]) -> Iterator[Event]:
    made = step.what.scaler.state(Scaler)
    assert made is not None  # it steps nothing otherwise
    for created in program.trace.of(events.Optimizer):
        for held in created.what.held if created.subject is step.subject else ():
            path = step.guard.join(held.guard)
            if path is not None and program.concerned(held.model):
                scaler = StaticScaler(program, step, program.top(held.model), path, made)
                yield ScalerStepped(when=step.when, scaler=scaler, scaler_made=made.made)
                return
