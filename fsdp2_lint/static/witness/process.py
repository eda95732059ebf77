"""Collectives, devices, and the program as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.process import CollectiveIssued, DeviceIndexDiscarded, DeviceSelected, ProgramEnded
from ...vocab.finding import Moment, Site
from ..handles import Program, StaticCollection, StaticDevice, StaticProcess
from ..trace import Step
from .producers import at_end, on


@on("collective", "backward")
def collective(program: Program, step: Step) -> Iterator[Event]:
    yield CollectiveIssued(when=step.when, collection=StaticCollection(program, step))


@on("device_set", "device_index")
def device_selected(program: Program, step: Step) -> Iterator[Event]:
    yield DeviceSelected(when=step.when, device=StaticDevice(program, step))


@on("device_discarded")
def device_discarded(program: Program, step: Step) -> Iterator[Event]:
    yield DeviceIndexDiscarded(when=step.when, name=step["name"])


@at_end
def ended(program: Program) -> Iterator[Event]:
    distributed = any(True for _ in program.trace.of("process_group", "mesh", "sharded"))
    if distributed and not program.partial:
        yield ProgramEnded(when=_end(program), process=StaticProcess(program))


def _end(program: Program) -> Moment:
    return program.trace.steps[-1].when if program.trace.steps else Moment(Site(program.name, 1))
