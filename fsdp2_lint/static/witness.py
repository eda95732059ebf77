"""Turns the trace of one program into the events that rules judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..vocab import events
from ..vocab.finding import Moment, Site
from .handles import (
    Program,
    StaticCollection,
    StaticDevice,
    StaticModel,
    StaticOptimizer,
    StaticPayload,
    StaticProcess,
    StaticUnit,
)
from .relations import Relation
from .trace import Step
from .values import Obj


def witness(program: Program) -> Iterator[events.Event]:
    """All events of a program: first as they happen, then what is only true at the end."""
    for step in program.trace.steps:
        yield from _as_it_happens(program, step)
    yield from _settled_plans(program)
    yield from _settled_optimizers(program)
    distributed = any(True for _ in program.trace.of("process_group", "mesh", "sharded"))
    if distributed and not program.partial:
        yield events.ProgramEnded(when=_end(program), process=StaticProcess(program))


def _as_it_happens(program: Program, step: Step) -> Iterator[events.Event]:
    when = step.when
    if step.kind == "sharded":
        for obj in step["group"]:
            yield events.Sharded(when=when, unit=StaticUnit(program, step, obj))
        if step["group"]:
            unit = StaticUnit(program, step, step["group"][0])
            for keyword, node in step["keywords"].items():
                yield events.KeywordPassed(when=Moment(_site(when, node), when.stack), keyword=keyword, unit=unit)
    elif step.kind in ("called", "loaded", "fsdp1_context"):
        if step.subject is not None and program.concerned(step.subject):
            yield from _on_a_model(program, step, StaticModel(program, step.subject, step))
    elif step.kind in ("collective", "backward"):
        yield from _collective(program, step)
    elif step.kind == "saved":
        yield events.Saved(when=when, payload=StaticPayload(program, step), by=step["by"])
    elif step.kind in ("device_set", "device_index"):
        yield events.DeviceSelected(when=when, device=StaticDevice(program, step))
    elif step.kind == "device_discarded":
        yield events.DeviceIndexDiscarded(when=when, name=step["name"])


def _on_a_model(program: Program, step: Step, model: StaticModel) -> Iterator[events.Event]:
    """What happens to an object that some sharding may have touched."""
    if step.kind == "loaded":
        yield events.Loaded(when=step.when, model=model, payload=StaticPayload(program, step))
    elif step.kind == "fsdp1_context":
        yield events.Fsdp1ContextUsed(when=step.when, name=step["name"], model=model)
    elif step["hooked"]:
        yield from _collective(program, step)
    else:
        yield events.Called(when=step.when, model=model, method=step["method"])


def _collective(program: Program, step: Step) -> Iterator[events.Event]:
    yield events.CollectiveIssued(when=step.when, collection=StaticCollection(program, step))


def _site(when: Moment, node: Any) -> Site:
    """A keyword's value; the whole call where the keyword came in a dict."""
    row = getattr(node, "lineno", None)
    if row is None:
        return when.at
    return Site(when.at.path, row, (node.col_offset or 0) + 1, node.end_lineno or row, (node.end_col_offset or 0) + 1)


def _settled_plans(program: Program) -> Iterator[events.Event]:
    """For each outermost module, and for each root that is sharded inside one."""
    models: dict[Obj, Step] = {}
    for step in program.trace.of("sharded"):
        for obj in step["group"]:
            models[program.top(obj)] = step
            if not step["listed"] and not any(True for _ in program.units(obj, Relation.INSIDE, Relation.MAY)):
                models[obj] = step
    for model, last in models.items():
        yield events.PlanSettled(when=last.when, model=StaticModel(program, model))
        for step in _without_root(program, model):
            yield events.PlanSettled(when=step.when, model=StaticModel(program, model, path=step.guard))


def _without_root(program: Program, model: Obj) -> Iterator[Step]:
    """The first call on a part of the model that is only made on paths on which the model itself is not sharded."""
    whole = [step for step, _ in program.units(model, Relation.SAME)]
    for step, _ in program.units(model, Relation.CONTAINS) if whole else ():
        if not step.guard.blurred and not any(step.guard.compatible(other.guard) for other in whole):
            yield step
            return


def _settled_optimizers(program: Program) -> Iterator[events.Event]:
    seen: set[tuple[Obj, Obj]] = set()
    sharded = {program.top(obj) for step in program.trace.of("sharded") for obj in step["group"]}
    for step in program.trace.of("optimizer"):
        assert step.subject is not None
        for held in step["held"]:
            top = program.top(held.model)
            if top in sharded and (step.subject, top) not in seen:
                seen.add((step.subject, top))
                optimizer = StaticOptimizer(program, step.subject, top)
                yield events.OptimizerSettled(when=step.when, optimizer=optimizer, model=StaticModel(program, top))


def _end(program: Program) -> Moment:
    return program.trace.steps[-1].when if program.trace.steps else Moment(Site(program.name, 1))
