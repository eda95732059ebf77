"""What was seen once and is judged later: plain records, of modules that may be gone by then."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from torch import nn

from ..vocab.finding import Moment


@dataclass(frozen=True, slots=True)
class Asked:
    """A sharded module was asked for a method that it has not. ``insists``: not by hasattr or getattr."""

    module: weakref.ref[nn.Module]
    when: Moment
    insists: bool


@dataclass(frozen=True, slots=True)
class Emptied:
    """A tensor that ``to_empty`` allocated, as it was right after."""

    module: weakref.ref[nn.Module]
    name: str
    fqn: str
    is_buffer: bool
    identity: int
    version: tuple[int, ...]
    digest: str
