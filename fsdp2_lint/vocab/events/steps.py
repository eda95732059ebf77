"""The order of one training step: backward, gradients that are reduced and clipped, and their use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from ..handles import Labelled
from .base import Event

# Of torch 2.15: until both have come, some gradients are reduced, and some not.
UNFINISHED = "set_manual_backward_finalization(True)"
NOT_AWAITED = "finalize_backward(async_op=True)"


class Synchronised(Labelled, Protocol):
    """A model whose gradients are used now."""

    def unsynchronised(self) -> Many[tuple[str, Place]]:
        """Groups whose last backward reduced no gradients: (label, the Place of the switch, with what was called)."""


class Clipped(Labelled, Protocol):
    """A model whose gradients are clipped now."""

    def used_before(self) -> Answer[Place]:
        """Have its optimizers made their step since the last backward? yes: Place of the step."""

    def by_its_own_norm(self) -> Answer[Place]:
        """Is it one stage of a pipeline of several, clipped by the norm of this stage alone? yes: where it is made."""


@dataclass(frozen=True, slots=True)
class Carried:
    """Gradients of a group that the backward at ``left`` added up unreduced, and ``cleared`` did not clear."""

    label: str
    left: Moment
    cleared: Moment


class Carrier(Labelled, Protocol):
    """A model whose gradients were cleared since the backward before this one."""

    def carried_over(self) -> Many[Carried]:
        """Gradients that were cleared in vain, and that this backward adds to."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Gradients of a group that the call at ``clipped`` did not see. ``why``: what hid them, and how, in words."""

    label: str
    clipped: Moment
    why: Place


class Limited(Labelled, Protocol):
    """A model whose gradients were clipped, and are used now."""

    def unseen(self) -> Many[Unseen]:
        """Gradients that an optimizer uses and that the last clipping did not see."""


class GradientsUsed(Event):  # just before an optimizer updates parameters of this model; S R P
    about = "model"
    model: Synchronised


class GradientsClipped(Event):  # torch.nn.utils.clip_grad_norm_ and its kin; S R P
    about = "model"
    model: Clipped


class BackwardBegun(Event):  # a backward begins, and gradients of this model were cleared since the one before; S R
    about = "model"
    model: Carrier


class ClippedUsed(Event):  # just before an optimizer updates parameters whose gradients were clipped; S R
    about = "model"
    model: Limited
