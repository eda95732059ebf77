"""Methods of FSDP1 that a sharded model is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.fsdp1_methods import ClipAsked, NoSyncAsked
from ..handles import Program
from ..handles.fsdp1_methods import StaticAsked
from ..trace import Step
from .producers import on

_EVENTS = {"no_sync": NoSyncAsked, "clip_grad_norm_": ClipAsked}


@on("fsdp1_method")
def asked(program: Program, step: Step) -> Iterator[Event]:
    if step.subject is not None and program.concerned(step.subject):
        yield _EVENTS[step["name"]](when=step.when, model=StaticAsked(program, step, step.subject))
