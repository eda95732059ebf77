"""Models are called, and gradients flow back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Fix, Moment, Place
from ..handles import Model
from ..live import Leftover
from .base import Event, LiveModelEvent, LiveUnitEvent


class Weight(Protocol):
    """A parameter that an operation uses, or what owns it where a module that is not sharded itself is called."""

    @property
    def label(self) -> str: ...

    def sharded(self) -> Answer[Moment]:
        """Does it belong to a group? yes: Moment of the call that made it."""

    def gathered(self) -> Answer[object]:
        """Is its group gathered at that moment?"""


class Keeper(Protocol):
    """A model that may keep gathered parameters from one forward to the next."""

    @property
    def label(self) -> str: ...

    def stale(self) -> Many[Leftover]:
        """Groups that have outlived an optimizer's step while they were gathered."""


class Beginning(Protocol):
    """A forward in inference mode, among the forwards of its model."""

    def before_training(self) -> Answer[Place]:
        """Does it come before each forward outside inference mode? yes: the Place of one that follows."""


class Choice(Protocol):
    """The decision whether a sharded module runs."""

    @property
    def label(self) -> str: ...

    def differs(self) -> Answer[Place]:
        """Do ranks decide it differently? yes: Place of the condition, with what it depends on."""


class Part(Protocol):
    """A module that is sharded, inside another one that is."""

    @property
    def label(self) -> str: ...

    def ran_first(self) -> Answer[Place]:
        """Did it run before its root ever had, which runs later? yes: Place of that call of the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Event):  # a method of a model is called from outside; S R P
    model: Model
    method: str
    fix: Fix | None = None

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
class OldWeightsMet(Event):  # a forward begins that may find gathered parameters of before a step; S R
    model: Keeper

    @property
    def subject(self) -> Keeper:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCalled(Event):  # a sharded part of a model is called, not inside a forward of the model; S R
    part: Part

    @property
    def subject(self) -> Part:
        return self.part


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOnCondition(Event):  # a sharded module is called under a condition that another one does not answer; S
    choice: Choice

    @property
    def subject(self) -> Choice:
        return self.choice


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledInInference(Event):  # a sharded model is called under torch.inference_mode; S
    model: Model
    entered: Moment
    beginning: Beginning

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
