"""What becomes of losses and gradients on their way to the optimizer: how they are divided, and who takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from ..handles import Labelled
from .base import Event


@dataclass(frozen=True, slots=True)
class Divides:
    """The gradients of one group are divided by one number and those of another by another.

    ``said``: where the one is given its number. ``other_made``: where the other is sharded.
    """

    label: str
    by: str
    said: Moment
    other: str
    other_by: str
    other_made: Moment


class Dividing(Labelled, Protocol):
    """A model whose groups divide the gradients that they reduce."""

    def unevenly(self) -> Many[Divides]:
        """Groups that are given a number to divide by, where others of the model divide by another one."""


class GradientsDivided(Event):  # a group is given a number to divide by, or a backward has ended; S R
    about = "model"
    model: Dividing


class Differentiated(Labelled, Protocol):
    """A model whose parameters a gradient is taken of, past ``backward``."""

    def unreduced(self) -> Answer[Place]:
        """Does nothing reduce that gradient over the ranks that share the parameters? yes: where they are sharded."""


class GradientsAsked(Event):  # torch.autograd.grad with respect to parameters; S R
    about = "model"
    model: Differentiated


class Reduction(Protocol):
    """A tensor whose values are combined over the ranks, in place."""

    def differentiated(self) -> Answer[Place]:
        """Does a backward of a sharded model start from this tensor afterwards? yes: Place."""


class TensorReduced(Event):  # dist.all_reduce; S
    reduction: Reduction
