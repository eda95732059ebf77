"""What was seen of the gradients of one group: whether they are reduced, cleared and clipped. No tensor is held."""

from __future__ import annotations

from dataclasses import dataclass

from ..vocab.finding import Moment, Place


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
