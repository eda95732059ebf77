"""The order of one training step: backward, gradients that are reduced and clipped, and their use."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from ..handles import Labelled
from .base import Event


class Synchronised(Labelled, Protocol):
    """A model whose gradients are used now."""

    def unsynchronised(self) -> Many[tuple[str, Moment]]:
        """Groups whose last backward reduced no gradients: (label, where that was switched off)."""


class Clipped(Labelled, Protocol):
    """A model whose gradients are clipped now."""

    def used_before(self) -> Answer[Place]:
        """Have its optimizers made their step since the last backward? yes: Place of the step."""


class GradientsUsed(Event):  # just before an optimizer updates parameters of this model; S R P
    about = "model"
    model: Synchronised


class GradientsClipped(Event):  # torch.nn.utils.clip_grad_norm_ and its kin; S R P
    about = "model"
    model: Clipped
