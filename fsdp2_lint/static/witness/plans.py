"""Calls of ``fully_shard``, and the plan that they make together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...vocab.events.base import Event
from ...vocab.events.plans import KeywordPassed, Offloaded, PlanSettled, Sharded, ShardingBegun
from ...vocab.finding import Moment, Site
from .. import events
from ..handles import Program, StaticModel, StaticUnit
from ..handles.residence import StaticOffload, StaticResident, offloaded
from ..relations import Relation
from ..trace import Step
from ..values import Obj
from .fixes import keyword_fix
from .producers import at_end, on


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
            fix, site = keyword_fix(program, step, keyword, when), _site(when, node)
            mapping = when.chain[0] if site == when.at else None
            yield KeywordPassed(when=Moment(site, when.stack), keyword=keyword, unit=unit, fix=fix, mapping=mapping)


def _site(when: Moment, node: Any) -> Site:
    """A keyword's value; the whole call where the keyword came in a dict."""
    row = getattr(node, "lineno", None)
    if row is None:
        return when.at
    return Site(when.at.path, row, (node.col_offset or 0) + 1, node.end_lineno or row, (node.end_col_offset or 0) + 1)


@at_end
def settled_plans(program: Program) -> Iterator[Event]:
    """For each outermost module, and for each root that is sharded inside one."""
    models: dict[Obj, Step[events.Sharded]] = {}
    for step in program.trace.of(events.Sharded):
        for obj in step.what.group:
            models[program.top(obj)] = step
            if not step.what.listed and not any(True for _ in program.units(obj, Relation.INSIDE, Relation.MAY)):
                models[obj] = step
    for model, last in models.items():
        yield PlanSettled(when=last.when, model=StaticModel(program, model))
        for step in _without_root(program, model):
            yield PlanSettled(when=step.when, model=StaticModel(program, model, path=step.guard))


def _without_root(program: Program, model: Obj) -> Iterator[Step[events.Sharded]]:
    """The first call on a part of the model that is only made on paths on which the model itself is not sharded."""
    whole = [step for step, _ in program.units(model, Relation.SAME)]
    for step, _ in program.units(model, Relation.CONTAINS) if whole else ():
        if not step.guard.blurred and not any(step.guard.compatible(other.guard) for other in whole):
            yield step
            return


@at_end
def first_shardings(program: Program) -> Iterator[Event]:
    """The first call on each model that is sharded as a whole."""
    whole: dict[Obj, None] = {}
    for step in program.trace.of(events.Sharded):
        if not step.what.listed:
            whole.update((obj, None) for obj in step.what.group if program.relation(obj, obj) is Relation.SAME)
    for model in whole:
        if any(True for _ in program.units(model, Relation.INSIDE, Relation.MAY)):
            continue
        first = next((step for step, _ in program.units(model, Relation.SAME, Relation.CONTAINS)), None)
        if first is not None:
            yield ShardingBegun(when=first.when, model=StaticResident(program, first, model))
