"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....vocab.events.base import Event
from ....vocab.events.initialisation import (
    ForwardSeen,
    InitialWeightsSeen,
    Materialised,
    MetaModelCalled,
    ParameterWritten,
    ResetCalled,
    ShardsDrawn,
)
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import BELOW, SOME, Obj
from ..shared.objects import RELATED
from ..shared.producers import at_end, on
from ..shared.program import Program
from ..shared.structure import stands_alone
from .draws import draws_of
from .initial_weights import StaticInitialWeights, is_common
from .initialisation import StaticEmptied
from .meta_device import StaticInitialised, StaticMetaModel
from .writes import StaticWrite


@at_end
def materialised(program: Program) -> Iterator[Event]:
    for emptied in program.trace.of(events.Emptied):
        for fresh, trained in run_after(program, emptied):
            if trained:
                yield Materialised(when=fresh.call.when, model=fresh)
            yield ForwardSeen(when=fresh.call.when, model=fresh)
            draws = list(draws_of(fresh, emptied)) if trained else []
            if draws:  # one is enough
                model = next((each for each in draws if each.same_numbers().surely), draws[0])
                yield ShardsDrawn(when=model.begin.when, model=model)


def run_after(program: Program, begin: AnyStep) -> Iterator[tuple[StaticEmptied, bool]]:
    """The first call of a sharded model that surely runs after ``begin``, and whether a backward comes behind it.

    Up to that, or to the end of the program, its forward may compute what it needs.
    """
    obj = begin.subject
    if obj is None or not _known_by_one_name(program, obj):
        return
    call = next(
        (each for each in program.trace.of(events.Called, after=begin) if _surely_runs(program, obj, each)), None
    )
    if call is not None:
        end = next(program.trace.of(events.Backward, after=call), None)
        last = end or replace(program.trace.steps[-1], guard=call.guard)
        yield StaticEmptied(program, obj, begin, call, last), end is not None


def _surely_runs(program: Program, obj: Obj, call: Step[events.Called]) -> bool:
    """Does it run the model, or a module in it? What a class that was not seen has under a name may be a function."""
    subject = call.subject
    if subject is None or not program.related(obj, subject):
        return False
    return subject.parent is None or not isinstance(subject.item, str) or subject.item in (SOME, BELOW)


def _known_by_one_name(program: Program, obj: Obj) -> bool:
    """A sharded model; else what fills it may know it by another name."""
    if program.relation(obj, obj) is not Relation.SAME or not stands_alone(program.top(obj)):
        return False
    return program.has_units(obj, *RELATED)


@at_end
def hollow(program: Program) -> Iterator[Event]:
    """Of the modules made on meta, those that are not part of another one made there."""
    made = {step.subject: step for step in program.trace.of(events.Meta)}
    for obj, begin in made.items():
        if obj is None or any(holder in made for holder in program.ancestors(obj)[1:]):
            continue
        if not _known_by_one_name(program, obj):
            continue
        sharded = [step for step, _ in program.units(obj, Relation.SAME)]
        for call in program.trace.of(events.Called, after=begin):
            if not _surely_runs(program, obj, call) or call.context:
                continue
            if any(step.precedes(call) for step in sharded):
                yield MetaModelCalled(when=call.when, model=StaticMetaModel(program, obj, begin, call, call))
                break


@on(events.Reset)
def reset(program: Program, step: Step[events.Reset]) -> Iterator[Event]:
    if step.subject is not None and program.has_units(step.subject, *RELATED):
        yield ResetCalled(when=step.when, model=StaticInitialised(program, step, step.subject))


@on(events.LostWrite)
def written(program: Program, step: Step[events.LostWrite]) -> Iterator[Event]:
    if step.subject is not None:
        write = StaticWrite(program, step, step.subject)
        yield ParameterWritten(when=step.when, write=write, exchanged=step.what.how == "data")


@at_end
def starting(program: Program) -> Iterator[Event]:
    """Models of the project that are sharded as a whole, where some rank loads or seeds for itself."""
    seeds = (step for step in program.trace.of(events.Seeded) if "torch" in step.what.generators)
    if all(is_common(program, step) for step in seeds) and not any(
        step.asked for step in program.trace.of(events.Loaded)
    ):
        return
    for step in program.trace.of(events.Sharded):
        for obj in step.what.group if not step.what.listed else ():
            if program.has_units(obj, Relation.INSIDE, Relation.MAY) or not stands_alone(obj):
                continue
            first = next((each for each, _ in program.units(obj, Relation.SAME, Relation.CONTAINS)), step)
            calls = program.trace.of(events.Called, after=first)
            call = next((each for each in calls if _surely_runs(program, obj, each)), None)
            if call is not None and next(program.trace.of(events.Backward, after=call), None) is not None:
                yield InitialWeightsSeen(when=first.when, model=StaticInitialWeights(program, obj, first, call))
