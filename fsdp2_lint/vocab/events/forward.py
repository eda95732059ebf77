"""Models are called, and gradients flow back."""

from __future__ import annotations

from dataclasses import dataclass

from typing import Protocol

from ..answers import Answer
from ..handles import Model
from .base import Event, LiveModelEvent, LiveUnitEvent


class Weight(Protocol):
    """A parameter that an operation uses, or what owns it where a module that is not sharded itself is called."""

    @property
    def label(self) -> str: ...

    def sharded(self) -> Answer:
        """Does it belong to a group? yes: Place of the call that made it."""

    def gathered(self) -> Answer:
        """Is its group gathered at that moment?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Event):  # a method of a model is called from outside; S R P
    model: Model
    method: str

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightUsed(Event):  # a parameter meets a plain tensor, not inside a method of the module that is sharded; S R
    weight: Weight

    @property
    def subject(self) -> Weight:
        return self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardBegun(LiveModelEvent):  # a forward of a root begins, and it has not gathered anything yet; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardEnded(LiveUnitEvent):  # the forward of its root has ended; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardEnded(LiveUnitEvent):  # all gradients of its root are reduced; R P
    pass
