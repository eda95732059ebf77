"""When the rules of this topic are asked: steps, ends of programs and texts turned into the events that they judge."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.events.base import Event
from ....vocab.events.launch import CollectiveIssued, DeviceIndexDiscarded, DeviceSelected, ProgramEnded
from ....vocab.finding import Moment, Site
from ...domain import events
from ...domain.events import Step
from ..shared.producers import at_end, on
from ..shared.program import Program
from .collectives import Gathering, StaticCollection
from .process import StaticDevice, StaticProcess


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
