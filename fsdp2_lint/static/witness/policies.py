"""The keywords of the calls of ``fully_shard``, one by one and side by side."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.policies import OptionsGiven
from ..handles import Program
from ..handles.options import StaticOptions
from ..trace import Step
from .producers import on


@on("sharded")
def given(program: Program, step: Step) -> Iterator[Event]:
    if step["group"]:
        yield OptionsGiven(when=step.when, options=StaticOptions(program, step, step["group"][0]))
