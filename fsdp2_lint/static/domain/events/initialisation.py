"""Parameters get their memory and their first values. The step's subject is the module."""

from __future__ import annotations

from typing import ClassVar

from ..values import Obj, Value
from .base import Counted, Event, InLoops


class Meta(Event):
    """A module is built without memory, on the meta device."""


class Emptied(Counted):
    """``to_empty``: a module gets memory with no values in it."""

    words: ClassVar[str] = "to_empty call"
    to: str  # the kind of device, as in ``Moved``, or "cpu"; empty where it is not known


class Written(Counted, InLoops):
    """Parameters of a module that had no values may get some. No subject: of a module that is not known."""

    words: ClassVar[str] = "write to parameters"
    in_place: bool  # the tensors stay, on whatever device they are
    buffers: bool  # its buffers may be written as well
    from_state: bool = False  # by a state dict: those that one holds, too
    of: Obj | None = None  # what is written, where it is not known of which module it is


class Drawn(Counted):
    """Parameters of a module that had no values get random ones."""

    words: ClassVar[str] = "random initialisation"


class Reset(Event):
    """``reset_parameters`` is called on a module."""

    caught: bool  # the code around it expects that it may fail


SOMEWHERE = "somewhere"


class Moved(Counted):
    """A module is moved to a device of this kind: "cuda", "other", or ``SOMEWHERE``."""

    words: ClassVar[str] = "move to a device"
    to: str


class LostWrite(Event):
    """A write to a parameter that is sharded reaches a copy of it, or one rank's shard."""

    how: str
    tensor: Value
