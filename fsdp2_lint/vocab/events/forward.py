"""Models are called, and gradients flow back."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Fix, Moment, Place
from ..live import Leftover
from ..objects import Labelled
from .base import Event, LiveModelEvent, LiveUnitEvent, ModelEvent


class Weight(Labelled, Protocol):
    """A parameter that an operation uses, or what owns it where a module that is not sharded itself is called."""

    def sharded(self) -> Answer[Moment]:
        """Does it belong to a group? yes: Moment of the call that made it."""

    def gathered(self) -> Answer[object]:
        """Is its group gathered at that moment?"""


class Keeper(Labelled, Protocol):
    """A model that may keep gathered parameters from one forward to the next."""

    def stale(self) -> Many[Leftover]:
        """Groups that have outlived an optimizer's step while they were gathered."""


class Beginning(Protocol):
    """A forward in inference mode, among the forwards of its model."""

    def before_training(self) -> Answer[Place]:
        """Does it come before each forward outside inference mode? yes: the Place of one that follows."""


class GradientPass(Protocol):
    """A backward, and the weights with which it computes."""

    def changed(self) -> Answer[Place]:
        """Have weights been written since the forward that it differentiates? yes: Place of that, and which weights."""

    def writes(self) -> Many[Place]:
        """Where they are written."""


class Choice(Labelled, Protocol):
    """The decision whether a sharded module runs."""

    def differs(self) -> Answer[Place]:
        """Do ranks decide it differently? yes: Place of the condition, with what it depends on."""


class Part(Labelled, Protocol):
    """A module that is sharded, inside another one that is."""

    def ran_first(self) -> Answer[Place]:
        """Did it run before its root ever had, which runs later? yes: Place of that call of the root."""


class Called(ModelEvent):  # a method of a model is called from outside; S R P
    method: str
    fix: Fix | None = None


class WeightUsed(Event):  # a parameter meets a plain tensor, not inside a method of the module that is sharded; S R
    about = "weight"
    weight: Weight


class GradientsTaken(Event):  # a backward computes gradients of a sharded model, of one group in a job; S R
    about = "model"
    model: Labelled
    taken: GradientPass


class OldWeightsMet(Event):  # a forward begins that may find gathered parameters of before a step; S R
    about = "model"
    model: Keeper


class PartCalled(Event):  # a sharded part of a model is called, not inside a forward of the model; S R
    about = "part"
    part: Part


class RunsOnCondition(Event):  # a sharded module is called under a condition that another one does not answer; S
    about = "choice"
    choice: Choice


class CalledInInference(ModelEvent):  # a sharded model is called under torch.inference_mode; S
    entered: Moment
    beginning: Beginning


class ForwardBegun(LiveModelEvent):  # a forward of a root begins, and it has not gathered anything yet; R P
    pass


class ForwardEnded(LiveUnitEvent):  # the forward of its root has ended; R P
    pass


class BackwardEnded(LiveUnitEvent):  # all gradients of its root are reduced; R P
    pass
