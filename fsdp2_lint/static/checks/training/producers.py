"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.copies import Copied
from ....vocab.events.fsdp1_methods import ClipAsked, NoSyncAsked
from ....vocab.events.generators import GeneratorRead
from ....vocab.events.losses import TensorReduced
from ....vocab.events.steps import GradientsClipped, GradientsUsed
from ....vocab.events.training import OptimizerSettled, ValueRead
from ...domain import events
from ...domain.events import Step
from ...domain.values import Obj
from ..shared.fixes import clipped_by_torch
from ..shared.models import StaticModel
from ..shared.producers import at_end, on, on_concerned
from ..shared.program import Program
from .fsdp1_methods import StaticAsked
from .generators import StaticGenerator
from .losses import StaticReduction
from .optimizers import StaticOptimizer
from .steps import StaticClip, StaticStep
from .value_reads import StaticReading


@on_concerned(events.Copied)
def copied(program: Program, step: Step[events.Copied], obj: Obj) -> Iterator[Event]:
    yield Copied(when=step.when, by=step.what.by, model=StaticModel(program, obj, step))


@on_concerned(events.Fsdp1Method)
def asked(program: Program, step: Step[events.Fsdp1Method], obj: Obj) -> Iterator[Event]:
    model = StaticAsked(program, step, obj)
    if step.what.name == "no_sync":
        yield NoSyncAsked(when=step.when, model=model)
    else:
        lacking = model.lacks_it().surely and not step.what.goes_on
        yield ClipAsked(when=step.when, model=model, fix=clipped_by_torch(program, step) if lacking else None)


@on_concerned(events.Consumed)
def consumed(program: Program, step: Step[events.Consumed], obj: Obj) -> Iterator[Event]:
    model = StaticModel(program, obj, step)
    yield GeneratorRead(when=step.when, by=step.what.by, generator=StaticGenerator(program, step), model=model)


@on(events.Reduced)
def reduced(program: Program, step: Step[events.Reduced]) -> Iterator[Event]:
    yield TensorReduced(when=step.when, reduction=StaticReduction(program, step))


@on(events.ValueRead)
def value_read(program: Program, step: Step[events.ValueRead]) -> Iterator[Event]:
    yield ValueRead(when=step.when, reading=StaticReading(program, step))


@on(events.Stepped)
def used(program: Program, step: Step[events.Stepped]) -> Iterator[Event]:
    """For each model that the optimizer trains. Only a program that switches can have left something off."""
    if next(program.trace.of(events.Sync), None) is None:
        return
    tops: dict[Obj, None] = {}
    for created in program.trace.of(events.Optimizer):
        if created.subject is step.subject:
            tops.update((program.top(held.model), None) for held in created.what.held)
    for top in tops:
        if program.concerned(top):
            yield GradientsUsed(when=step.when, model=StaticStep(program, step, top))


@on_concerned(events.Clipped)
def clipped(program: Program, step: Step[events.Clipped], obj: Obj) -> Iterator[Event]:
    yield GradientsClipped(when=step.when, model=StaticClip(program, step, obj))


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
