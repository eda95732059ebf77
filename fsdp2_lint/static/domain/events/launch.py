"""The job is set up: its processes, their devices, and how those are arranged."""

from __future__ import annotations

from typing import ClassVar

from ..values import Value
from .base import Counted, Event


class ProcessGroup(Counted):
    """``init_process_group`` is called, with these arguments. None: not given.

    ``address`` says where the processes meet: the ``init_method``, or the ``MASTER_ADDR`` that the program sets.
    """

    words: ClassVar[str] = "process group"
    backend: Value | None
    device_id: Value | None
    world_size: Value | None
    address: Value | None


class SelfStarted(Event):
    """A script is started as a job of processes that all run on this machine."""

    script: str


class Mesh(Counted):
    """The step's subject, a mesh of devices, is made. None: not given."""

    words: ClassVar[str] = "mesh"
    device: Value | None
    shape: Value | None


class DeviceSet(Counted):
    """The process selects a device."""

    words: ClassVar[str] = "selection of a device"
    name: str  # of what selects it
    index: Value | None  # None: not written in what is given
    scoped: bool  # for the body of a ``with`` only
    told: bool = False  # its index was seen already, where the device was made


class DeviceIndex(Event):
    """A device is named by its index."""

    index: Value


class DeviceTouch(Counted):
    """Something is put on whatever device is the current one."""

    words: ClassVar[str] = "use of the current device"
    how: str


class DeviceStarted(Counted):
    """Something is put on a GPU that is named by its index: CUDA runs from here on, and no device is selected."""

    words: ClassVar[str] = "use of a GPU by its index"
    index: Value


class DeviceDiscarded(Event):
    """A context manager that would select a device stands alone as a statement."""

    name: str
