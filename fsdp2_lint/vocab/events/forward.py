"""Models are called, and gradients flow back."""

from __future__ import annotations

from dataclasses import dataclass

from ..handles import Model
from .base import Event, LiveModelEvent, LiveUnitEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Event):  # a method of a model is called from outside; S R P
    model: Model
    method: str

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardBegun(LiveModelEvent):  # a forward of a root begins, and it has not gathered anything yet; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardEnded(LiveUnitEvent):  # the forward of its root has ended; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardEnded(LiveUnitEvent):  # all gradients of its root are reduced; R P
    pass
