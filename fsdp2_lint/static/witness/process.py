"""Collectives, devices, and the program as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocab.events.base import Event
from ...vocab.events.process import CollectiveIssued, DeviceIndexDiscarded, DeviceSelected, ProgramEnded
from ...vocab.finding import Moment, Site
from .. import events
from ..handles import Program, StaticCollection, StaticDevice, StaticProcess
from ..handles.process import Gathering
from ..trace import Step
from .producers import at_end, on


def issued(program: Program, step: Gathering) -> CollectiveIssued:
    return CollectiveIssued(when=step.when, collection=StaticCollection(program, step))


@on(events.Collective, events.Backward)
def collective(program: Program, step: Step[events.Collective | events.Backward]) -> Iterator[Event]:
    yield issued(program, step)


@on(events.DeviceSet, events.DeviceIndex)
def device_selected(program: Program, step: Step[events.DeviceSet | events.DeviceIndex]) -> Iterator[Event]:
    yield DeviceSelected(when=step.when, device=StaticDevice(program, step))


@on(events.DeviceDiscarded)
def device_discarded(program: Program, step: Step[events.DeviceDiscarded]) -> Iterator[Event]:
    yield DeviceIndexDiscarded(when=step.when, name=step.what.name)


@at_end
def ended(program: Program) -> Iterator[Event]:
    distributed = any(True for _ in program.trace.of(events.ProcessGroup, events.Mesh, events.Sharded))
    if distributed and not program.partial:
        yield ProgramEnded(when=_end(program), process=StaticProcess(program))


def _end(program: Program) -> Moment:
    return program.trace.steps[-1].when if program.trace.steps else Moment(Site(program.name, 1))
