"""Parameters get their memory and their first values. The step's subject is the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..values import Value
from .base import Counted, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta(Event):
    """A module is built without memory, on the meta device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emptied(Counted):
    """``to_empty``: a module gets memory with no values in it."""

    words: ClassVar[str] = "to_empty call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Counted):
    """Parameters of a module that had no values may get some. No subject: of a module that is not known."""

    words: ClassVar[str] = "write to parameters"
    in_place: bool  # the tensors stay, on whatever device they are
    buffers: bool  # its buffers may be written as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Event):
    """``reset_parameters`` is called on a module."""

    caught: bool  # the code around it expects that it may fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Counted):
    """A module is moved to a device of this kind."""

    words: ClassVar[str] = "move to a device"
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWrite(Event):
    """A write to a parameter that is sharded reaches a copy of it, or one rank's shard."""

    how: str
    tensor: Value
