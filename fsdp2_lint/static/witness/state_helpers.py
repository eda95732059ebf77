"""Calls of the state-dict helpers of DCP."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.state_dicts import HelperCalled, OptimizerStateRead, StateGathered, StateSet
from .. import events
from ..handles import Program, StaticHelper, StaticModel
from ..trace import Step
from .producers import on


@on(events.StateHelper)
def state_helper(program: Program, step: Step[events.StateHelper]) -> Iterator[Event]:
    helper = StaticHelper(program, step)
    yield HelperCalled(when=step.when, helper=helper)
    if helper.name.startswith("get") and step.subject is not None and program.concerned(step.subject):
        yield StateGathered(when=step.when, gathering=helper, model=StaticModel(program, step.subject, step))
        if step.what.optimizers:
            yield OptimizerStateRead(when=step.when, reading=helper)
    if helper.name.startswith("set"):
        yield StateSet(when=step.when, setting=helper)
