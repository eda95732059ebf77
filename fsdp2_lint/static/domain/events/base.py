"""What every event is, and what some kinds of them keep besides."""

from __future__ import annotations

import re
from typing import ClassVar

from ....vocab.declared import Declared


class Event(Declared):
    """What happens at a step of the trace. Each kind is a class of its own, and its fields are what it tells."""

    kind: ClassVar[str]  # what the class is called, as it stands in a dump: ``DeviceSet`` is "device_set"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = re.sub("(?<=.)(?=[A-Z])", "_", cls.__name__).lower()


class Counted(Event):
    """A kind that a *no* may name (see ``closure``): all events of it were looked at."""

    words: ClassVar[str]  # what one of them is called


class AsksRanks(Event):
    """Its step keeps where the conditions on ranks were asked that hold there."""


class InLoops(Event):
    """Its step keeps the loops that it lies in."""
