"""Loops over modules whose filter asks what nobody knows, such as names out of a configuration.

A model whose parts are known is walked part by part, and an open filter lets each of them through
on a path of its own. That a part may pass is no proof that it does.
"""

from __future__ import annotations

from dataclasses import replace

from .checks.shared.program import Program
from .domain import events
from .domain.events import Step
from .domain.formulas import LARGE, Formula, intern, is_fork


def blur_filtered(program: Program) -> None:
    """What one call of ``fully_shard`` gets on conditions that differ from part to part is not surely sharded."""
    calls: dict[int, list[Step[events.Sharded]]] = {}
    for step in program.trace.of(events.Sharded):
        calls.setdefault(step.place, []).append(step)
    for steps in calls.values():
        for step in [each for each in steps if any(_sets_apart(program, each, other) for other in steps)]:
            formula: Formula = intern(("truth", (LARGE, "a filter", step.index)))
            path = step.guard.add(formula) or step.guard
            program.trace.put(replace(step, guard=path, what=replace(step.what, filtered=True)))


def _sets_apart(program: Program, step: Step[events.Sharded], other: Step[events.Sharded]) -> bool:
    """Is something asked of one part that is not asked of the other? Else they are what one name may stand for."""
    if step.guard is other.guard or step.what.group == other.what.group:
        return False
    if all(is_fork(part[0]) or part in other.guard.literal_set for part in step.guard.literals):
        return False
    return step.guard.compatible(other.guard) or any(
        program.address(mine)[0] is program.address(theirs)[0]
        for mine in step.what.group
        for theirs in other.what.group
    )
