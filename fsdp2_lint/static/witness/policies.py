"""The keywords of the calls of ``fully_shard``, one by one and side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...vocab.events.base import Event
from ...vocab.events.policies import OptionsGiven, PolicySettled, ReshardingSettled
from .. import events
from ..handles import Program
from ..handles.consistency import StaticPolicy
from ..handles.options import StaticOptions
from ..handles.resharding import StaticResharding
from ..relations import Relation
from ..trace import Step
from ..values import Obj
from .producers import at_end, on


@on(events.Sharded)
def given(program: Program, step: Step[events.Sharded]) -> Iterator[Event]:
    if step.what.group:
        yield OptionsGiven(when=step.when, options=StaticOptions(program, step, step.what.group[0]))


@at_end
def settled(program: Program) -> Iterator[Event]:
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
            if not any(True for _ in program.units(obj, Relation.INSIDE, Relation.MAY)):
                found[obj] = None
    return [obj for obj in found if any(True for _ in program.units(obj, Relation.SAME))]
