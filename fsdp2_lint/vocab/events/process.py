"""The process of one rank: launch, device, collectives."""

from __future__ import annotations

from dataclasses import dataclass

from ..handles import Collection, Device, Process
from ..live import LiveProcess
from .base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched(Event):  # the default process group exists; R P
    process: LiveProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded(Event):  # the witness stops looking; S R P
    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSelected(Event):  # torch.cuda.set_device and its kin; S R P
    device: Device


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIndexDiscarded(Event):  # a device context manager stands alone as a statement; S
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveIssued(Event):  # an operation in which every rank must take part; S
    collection: Collection
