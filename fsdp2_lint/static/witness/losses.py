"""Losses, and what is done to them between forward and backward."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.losses import TensorReduced
from .. import events
from ..handles import Program
from ..handles.losses import StaticReduction
from ..trace import Step
from .producers import on


@on(events.Reduced)
def reduced(program: Program, step: Step[events.Reduced]) -> Iterator[Event]:
    yield TensorReduced(when=step.when, reduction=StaticReduction(program, step))
