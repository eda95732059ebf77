"""Calls of the state-dict helpers of DCP."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.state_dicts import HelperCalled, OptimizerStateRead, StateGathered, StateSet
from ..handles import Program, StaticHelper, StaticModel
from ..trace import Step
from .producers import on


@on("state_helper")
def state_helper(program: Program, step: Step) -> Iterator[Event]:
    helper = StaticHelper(program, step)
    yield HelperCalled(when=step.when, helper=helper)
    if helper.name.startswith("get") and step.subject is not None and program.concerned(step.subject):
        yield StateGathered(when=step.when, gathering=helper, model=StaticModel(program, step.subject, step))
        if step["optimizers"]:
            yield OptimizerStateRead(when=step.when, reading=helper)
    if helper.name.startswith("set"):
        yield StateSet(when=step.when, setting=helper)
