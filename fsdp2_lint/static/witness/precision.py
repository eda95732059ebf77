"""The precision in which groups compute, and in which their weights are kept."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.precision import PoliciesTaken
from ..handles import Program
from ..handles.policies import StaticPolicies
from ..trace import Step
from .producers import on


@on("sharded")
def policies(program: Program, step: Step) -> Iterator[Event]:
    if step["group"]:
        yield PoliciesTaken(when=step.when, policies=StaticPolicies(program, step, step["group"][0]))
