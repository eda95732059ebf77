"""Calls of models, past their hooks or through them."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.forward import Called
from .. import events
from ..handles import Program, StaticModel
from ..trace import Step
from .fixes import called_itself
from .process import issued
from .producers import on


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
