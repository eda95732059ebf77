"""What was seen once and is judged later: plain records, of modules that may be gone by then."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from torch import nn

from ..vocab.finding import Moment, Place


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


# -- what was seen of the gradients of one group: whether they are reduced, cleared and clipped. No tensor is held
@dataclass(frozen=True, slots=True)
class Clip:
    """The last clipping since the last step. ``unseen``: why it met none of the gradients; None where it did."""

    when: Moment
    unseen: Place | None


@dataclass(eq=False, slots=True)
class Gradients:
    switched: bool = False  # did the user ever say whether they are reduced?
    sync_off: Moment | None = None  # where it was said last that they are not
    all_reduce_off: Moment | None = None  # likewise, of replicas
    manual: Moment | None = None  # where it was said that finalize_backward() brings them to an end
    finalized: Moment | None = None  # where that was called last
    left_off: Place | None = None  # the switch by which the last backward did not reduce them
    survived: tuple[Moment, Moment] | None = None  # the last backward before they were cleared in vain, and where
    clip: Clip | None = None
