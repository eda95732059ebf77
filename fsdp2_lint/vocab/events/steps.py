"""The order of one training step: backward, gradients that are reduced and clipped, and their use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from .base import Event


class Synchronised(Protocol):
    """A model whose gradients are used now."""

    @property
    def label(self) -> str: ...

    def unsynchronised(self) -> Many[tuple[str, Moment]]:
        """Groups whose last backward reduced no gradients: (label, where that was switched off)."""


class Clipped(Protocol):
    """A model whose gradients are clipped now."""

    @property
    def label(self) -> str: ...

    def used_before(self) -> Answer[Place]:
        """Have its optimizers made their step since the last backward? yes: Place of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsUsed(Event):  # just before an optimizer updates parameters of this model; S R P
    model: Synchronised

    @property
    def subject(self) -> Synchronised:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsClipped(Event):  # torch.nn.utils.clip_grad_norm_ and its kin; S R P
    model: Clipped

    @property
    def subject(self) -> Clipped:
        return self.model
