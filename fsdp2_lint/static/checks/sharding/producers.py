"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....vocab.events.base import Event
from ....vocab.events.sharding import (
    Checkpointed,
    Compiled,
    GroupSettled,
    KeywordPassed,
    Offloaded,
    OptionsGiven,
    ParametersExchanged,
    ParametersReplaced,
    PlanSettled,
    PolicySettled,
    ReshardingSettled,
    Sharded,
    ShardingBegun,
    TensorParallelised,
    WrappedAgain,
)
from ....vocab.finding import Moment
from ...domain import events
from ...domain.events import Step
from ...domain.relations import Relation
from ...domain.values import Obj
from ..initialisation.device_placement import StaticOffload, StaticPlacement, offloaded
from ..shared.fixes import keyword_fix
from ..shared.models import StaticModel
from ..shared.objects import RELATED
from ..shared.producers import at_end, on, on_concerned
from ..shared.program import Program
from ..shared.source_edits import keyword_site
from .composition import StaticComposition
from .consistency import StaticPolicy
from .grouping import StaticGrouping
from .options import StaticOptions
from .replacement import StaticReplacement
from .resharding import StaticResharding
from .units import StaticUnit

# -- what is put around modules besides ``fully_shard``

_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")


@on(events.Wrapped)
def wrapped(program: Program, step: Step[events.Wrapped]) -> Iterator[Event]:
    by = step.what.by.rsplit(".", 1)[-1]
    if by in _WRAPPERS and step.subject is not None and program.concerned(step.subject):
        yield WrappedAgain(when=step.when, by=by, composition=StaticComposition(program, step, step.subject))


@on_concerned(events.Exchanged)
def exchanged(program: Program, step: Step[events.Exchanged], obj: Obj) -> Iterator[Event]:
    composition = StaticComposition(program, step, obj, tuple(RELATED), step.what.read)
    yield ParametersExchanged(when=step.when, name=step.what.name, composition=composition)


@on_concerned(events.Parallelised)
def parallelised(program: Program, step: Step[events.Parallelised], obj: Obj) -> Iterator[Event]:
    composition = StaticComposition(program, step, obj, tuple(RELATED))
    yield TensorParallelised(when=step.when, composition=composition)


@on_concerned(events.Checkpointed)
def checkpointed(program: Program, step: Step[events.Checkpointed], obj: Obj) -> Iterator[Event]:
    yield Checkpointed(when=step.when, composition=StaticComposition(program, step, obj))


@on_concerned(events.Compiled)
def compiled(program: Program, step: Step[events.Compiled], obj: Obj) -> Iterator[Event]:
    composition = StaticComposition(program, step, obj)
    yield Compiled(when=step.when, whole_graph=step.what.whole_graph, composition=composition)


# -- the groups of a plan


@at_end
def settled(program: Program) -> Iterator[Event]:
    for step in program.trace.of(events.Sharded):
        if step.what.group:
            yield GroupSettled(when=step.when, group=StaticGrouping(program, step, step.what.group[0]))


# -- calls of ``fully_shard``, and the plan that they make together


@on(events.Sharded)
def sharded(program: Program, step: Step[events.Sharded]) -> Iterator[Event]:
    when = step.when
    for obj in step.what.group:
        yield Sharded(when=when, unit=StaticUnit(program, step, obj))
    if step.what.group:
        unit = StaticUnit(program, step, step.what.group[0])
        if (path := offloaded(program, step)) is not None:
            yield Offloaded(when=when, offload=StaticOffload(program, path, step), unit=unit)
        for keyword, node in step.what.keywords.items():
            fix, site = keyword_fix(program, step, keyword, when), keyword_site(when, node)
            mapping = when.chain[0] if site == when.at else None
            yield KeywordPassed(when=Moment(site, when.stack), keyword=keyword, unit=unit, fix=fix, mapping=mapping)


@at_end
def settled_plans(program: Program) -> Iterator[Event]:
    """For each outermost module, and for each root that is sharded inside one."""
    models: dict[Obj, Step[events.Sharded]] = {}
    for step in program.trace.of(events.Sharded):
        for obj in step.what.group:
            models[program.top(obj)] = step
            if not step.what.listed and not program.has_units(obj, Relation.INSIDE, Relation.MAY):
                models[obj] = step
    for model, last in models.items():
        yield PlanSettled(when=last.when, model=StaticModel(program, model), takes_all=_takes_all(program, model))
        for step in _without_root(program, model):
            yield PlanSettled(when=step.when, model=StaticModel(program, model, path=step.guard))


def _without_root(program: Program, model: Obj) -> Iterator[Step[events.Sharded]]:
    """The first call on a part of the model that is only made on paths on which the model itself is not sharded."""
    whole = [step for step, _ in program.units(model, Relation.SAME)]
    for step, _ in program.units(model, Relation.CONTAINS) if whole else ():
        if not step.guard.blurred and not any(step.guard.compatible(other.guard) for other in whole):
            yield step
            return


def _takes_all(program: Program, model: Obj) -> bool:
    """Not where no script runs the code: what it was given may be a block of a larger model."""
    if program.partial or program.top(model) != model or program.relation(model, model) is not Relation.SAME:
        return False
    return any(_leaves_nothing(program, model, step) for step, _ in program.units(model, Relation.SAME))


def _leaves_nothing(program: Program, model: Obj, step: Step[events.Sharded]) -> bool:
    what = step.what
    unsure = what.listed or what.filtered or what.open_why or what.options_open or "ignored_params" in what.keywords
    if unsure or step.guard.blurred:
        return False
    return all(part.guard.implies(step.guard) for part, _ in program.units(model, Relation.CONTAINS, Relation.MAY))


@at_end
def first_shardings(program: Program) -> Iterator[Event]:
    """The first call on each model that is sharded as a whole."""
    whole: dict[Obj, None] = {}
    for step in program.trace.of(events.Sharded):
        if not step.what.listed:
            whole.update((obj, None) for obj in step.what.group if program.relation(obj, obj) is Relation.SAME)
    for model in whole:
        if program.has_units(model, Relation.INSIDE, Relation.MAY):
            continue
        first = next((step for step, _ in program.units(model, Relation.SAME, Relation.CONTAINS)), None)
        if first is not None:
            yield ShardingBegun(when=first.when, model=StaticPlacement(program, first, model))


# -- the keywords of the calls of ``fully_shard``, one by one and side by side


@on(events.Sharded)
def given(program: Program, step: Step[events.Sharded]) -> Iterator[Event]:
    if step.what.group:
        yield OptionsGiven(when=step.when, options=StaticOptions(program, step, step.what.group[0]))


@at_end
def settled_resharding(program: Program) -> Iterator[Event]:
    for root in _roots(program):
        steps = tuple(step for step, _ in program.units(root, Relation.SAME, Relation.CONTAINS))
        yield ReshardingSettled(when=steps[-1].when, resharding=StaticResharding(program, root, steps))
        for step in _apart(steps):
            policy = StaticPolicy(program, step, step.what.group[0], root, steps)
            yield PolicySettled(when=step.when, policy=policy)


def _apart(steps: tuple[Step[events.Sharded], ...]) -> Iterable[Step[events.Sharded]]:
    """One of the calls that stand at one place and get the same: a recursion makes thousands of them."""
    return {(step.when.at, tuple(step.what.options.items())): step for step in reversed(steps)}.values()


def _roots(program: Program) -> list[Obj]:
    """What is sharded, and inside nothing that is."""
    found: dict[Obj, None] = {}
    for step in program.trace.of(events.Sharded):
        for obj in step.what.group:
            if not program.has_units(obj, Relation.INSIDE, Relation.MAY):
                found[obj] = None
    return [obj for obj in found if program.has_units(obj, Relation.SAME)]


# -- parameters that ``fully_shard`` replaces


@at_end
def replaced(program: Program) -> Iterator[Event]:
    tied = program.trace.of(events.ParamHook, events.ParamMarked, events.ParamAsked, events.Clipped)
    if next(tied, None) is None:
        return
    for step in program.trace.of(events.Sharded):
        if step.what.group:
            yield ParametersReplaced(when=step.when, replacement=StaticReplacement(program, step, step.what.group[0]))
