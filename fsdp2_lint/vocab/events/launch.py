"""The process of one rank: launch, device, collectives."""

from __future__ import annotations

from ..live import LiveProcess
from ..objects import Collection, Device, Process
from .base import Event


class Launched(Event):  # the default process group exists; R P
    process: LiveProcess


class ProgramEnded(Event):  # the analysis stops looking; S R P
    process: Process


class DeviceSelected(Event):  # torch.cuda.set_device and its kin; S R P
    device: Device


class DeviceIndexDiscarded(Event):  # a device context manager stands alone as a statement; S
    name: str


class CollectiveIssued(Event):  # an operation in which every rank must take part; S
    collection: Collection
