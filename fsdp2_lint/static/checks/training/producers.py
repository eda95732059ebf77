"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.training import (
    BackwardBegun,
    ClipAsked,
    ClippedUsed,
    Copied,
    GeneratorRead,
    GradientsAsked,
    GradientsClipped,
    GradientsDivided,
    GradientsUsed,
    HyperparametersSet,
    NoSyncAsked,
    OptimizerSettled,
    TensorReduced,
    ValueRead,
)
from ...domain import events
from ...domain.events import Step
from ...domain.values import Obj
from ..shared.fixes import clipped_by_torch
from ..shared.models import StaticModel
from ..shared.producers import at_end, on, on_concerned
from ..shared.program import Program
from ..shared.switches import trained_by
from .clipping import StaticLimited
from .fsdp1_methods import StaticAsked
from .generators import StaticGenerator
from .gradients import StaticDifferentiated, StaticDividing
from .losses import StaticReduction
from .optimizers import StaticHyperparameters, StaticOptimizer
from .steps import StaticClip, StaticStep
from .value_reads import StaticLocalPart, StaticReading
from .windows import StaticWindow, windows


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


@on(events.GradientScaled)
def scaled(program: Program, step: Step[events.GradientScaled]) -> Iterator[Event]:
    reading = StaticLocalPart(program, step)
    yield ValueRead(when=reading.taken, reading=reading)


@on(events.HyperparameterGiven)
def given(program: Program, step: Step[events.HyperparameterGiven]) -> Iterator[Event]:
    """To an optimizer of a model that is sharded."""
    held = program.held_by.get(step.subject, [])
    if any(program.concerned(program.top(model)) for model in held):
        yield HyperparametersSet(when=step.when, name=step.what.name, given=StaticHyperparameters(program, step))


@on(events.Stepped)
def used(program: Program, step: Step[events.Stepped]) -> Iterator[Event]:
    """For each model that the optimizer trains. Only a program that switches can have left something off."""
    if next(program.trace.of(events.Sync, events.BackwardSwitched), None) is None:
        return
    for top in trained_by(program, step.subject):
        yield GradientsUsed(when=step.when, model=StaticStep(program, step, top))


@on(events.Stepped)
def clipped_before(program: Program, step: Step[events.Stepped]) -> Iterator[Event]:
    """For each model that is clipped between the steps: the last clipping before this one."""
    clippings = [each for each in program.trace.of(events.Clipped, before=step) if each.driven_before(step)]
    for top in trained_by(program, step.subject) if clippings else ():
        own = [each for each in clippings if any(program.related(held.model, top) for held in each.what.held)]
        if own and not any(own[-1].index < each.index < step.index for each in program.trace.of(events.Stepped)):
            yield ClippedUsed(when=step.when, model=StaticLimited(program, step, top, own[-1]))


@on(events.Zeroed)
def cleared(program: Program, step: Step[events.Zeroed]) -> Iterator[Event]:
    """Only a program that switches has gradients that clearing does not reach."""
    if step.subject is None or next(program.trace.of(events.Sync, events.BackwardSwitched), None) is None:
        return
    trained = step.subject in program.held_by
    for top in trained_by(program, step.subject) if trained else [program.top(step.subject)]:
        for early, late in windows(program, step, top) if program.concerned(top) else ():
            yield BackwardBegun(when=late.when, model=StaticWindow(program, step, top, early, late))


@on_concerned(events.Clipped)
def clipped(program: Program, step: Step[events.Clipped], obj: Obj) -> Iterator[Event]:
    yield GradientsClipped(when=step.when, model=StaticClip(program, step, obj))


@on(events.Differentiated)
def differentiated(program: Program, step: Step[events.Differentiated]) -> Iterator[Event]:
    for obj in dict.fromkeys(held.model for held in step.what.held):
        if program.concerned(obj):
            yield GradientsAsked(when=step.when, model=StaticDifferentiated(program, step, obj))


@on_concerned(events.Divided)
def divided(program: Program, step: Step[events.Divided], obj: Obj) -> Iterator[Event]:
    yield GradientsDivided(when=step.when, model=StaticDividing(program, step, obj))


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
