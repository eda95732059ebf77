"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.forward import (
    Called,
    CalledInInference,
    GradientsTaken,
    OldWeightsMet,
    PartCalled,
    RunsOnCondition,
    WeightUsed,
)
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Relation
from ...domain.values import Obj
from ..launch.producers import issued
from ..shared.fixes import called_itself
from ..shared.models import StaticModel
from ..shared.producers import at_end, on
from ..shared.program import Program
from ..shared.structure import owns_parameters
from .changes import passes
from .choices import choices
from .execution_order import StaticBeginning, StaticKeeper, StaticPart, around, inner_keepers, pending
from .forward import Group, PastHooks, StaticWeight, culprit, group_of
from .gathered import by_hand, next_forward

# -- calls of models, past their hooks or through them


@on(events.Called)
def called(program: Program, step: Step[events.Called]) -> Iterator[Event]:
    """Of objects that some sharding may have touched."""
    if step.subject is None or not program.concerned(step.subject):
        return
    if step.what.hooked:
        yield issued(program, step)
    else:
        model, method = StaticModel(program, step.subject, step), step.what.method
        bypassed = method == "forward" and model.sharded().surely and model.hooks_bypassed(method).surely
        fix = called_itself(program, step) if bypassed else None
        yield Called(when=step.when, model=model, method=method, fix=fix)


# -- models run: what reaches a parameter past the hooks that gather it, which part runs when, and in which mode


@at_end
def uses(program: Program) -> Iterator[Event]:
    """Operations on weights, and calls of layers that have one and are not sharded themselves."""
    told: set[tuple[Obj, str]] = set()  # one registration mends all calls of a method
    for step in sorted(program.trace.of(events.WeightUsed, events.Called), key=lambda step: step.index):
        owner = step.subject
        if owner is None or isinstance(step.what, events.Called) and not _is_layer(program, step):
            continue
        group = group_of(program, owner, step) if program.concerned(owner) else None
        if not isinstance(group, Group) or group.module in step.what.inside:
            continue
        if isinstance(step.what, events.Called) and group.is_made_of(owner):
            continue  # its own hooks run
        at = culprit(program, step)
        if at is None:
            continue
        if at.kind == "part":
            name = step.what.name if isinstance(step.what, events.WeightUsed) else ""
            weight = StaticWeight(program, step, owner, group, name)
            yield WeightUsed(when=at.when, weight=weight)
        elif at.kind == "method" and (at.obj, at.name) not in told:
            model = PastHooks(program, at.obj, step, group=group)
            if model.hooks_bypassed(at.name).surely:
                told.add((at.obj, at.name))
            yield Called(when=at.when, model=model, method=at.name)


def _is_layer(program: Program, step: AnyStep) -> bool:
    owner = step.subject
    hooked = isinstance(step.what, events.Called) and step.what.hooked
    return hooked and owner is not None and (owner in program.owners or owns_parameters(owner))


@at_end
def chosen(program: Program) -> Iterator[Event]:
    """Calls of sharded modules on which ranks may not agree: of each condition the first."""
    told: set[object] = set()
    entered: dict[Obj, Step[events.Called]] = {}  # the last call of each module that is not inside another one's
    for step in program.trace.of(events.Called):
        owner = step.subject
        outer = entered.get(step.what.inside[0]) if step.what.inside else None
        if owner is not None and not step.what.inside:
            entered[owner] = step
        if owner is None or not step.what.hooked or not (step.guard.literals or step.what.inside):
            continue
        if not program.has_units(owner, Relation.SAME, Relation.CONTAINS):
            continue
        for choice in choices(program, step, outer):
            if choice.literal[0] not in told:
                if choice.differs().surely:
                    told.add(choice.literal[0])
                yield RunsOnCondition(when=step.when, choice=choice)


@on(events.Called)
def root_called(program: Program, step: Step[events.Called]) -> Iterator[Event]:
    """A sharded model, or a part of one, is called through its hooks."""
    owner = step.subject
    if owner is None or not step.what.hooked or not program.concerned(owner):
        return
    if step.what.inference is not None and not step.what.inside:
        model = StaticModel(program, owner, step)
        beginning = StaticBeginning(program, step, owner)
        yield CalledInInference(when=step.when, model=model, entered=step.what.inference, beginning=beginning)
    group = group_of(program, owner, step)
    if not isinstance(group, Group) or not group.is_made_of(owner):
        return
    if outer := around(program, step):
        yield PartCalled(when=step.when, part=StaticPart(program, step, owner, outer))
    elif group.is_root() and (found := pending(program, step, group)) is not None:
        trained, stepped = found
        for each in (group, *inner_keepers(program, owner, step)):
            yield OldWeightsMet(when=trained.when, model=StaticKeeper(program, each.module, each, step, stepped))


@on(events.Backward)
def differentiated(program: Program, step: Step[events.Backward]) -> Iterator[Event]:
    """A model whose parameters are written between its forward and a backward."""
    for taken in passes(program, step):
        yield GradientsTaken(when=step.when, model=taken, taken=taken)


@on(events.Stepped)
def gathered_over(program: Program, step: Step[events.Stepped]) -> Iterator[Event]:
    """What is gathered by hand, and used by a forward that comes after the step."""
    for module, model in by_hand(program, step):
        if (forward := next_forward(program, module, step)) is not None:
            yield OldWeightsMet(when=forward.when, model=model)
