"""In which precision a group computes, reduces and keeps its weights."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Place, Site
from ..handles import Labelled
from .base import Event, ModelEvent


class Policies(Labelled, Protocol):
    """The policies that one call of ``fully_shard`` was given."""

    def wrong_policies(self) -> Many[tuple[str, str, Site | None]]:
        """Policies that are no policy object: (keyword, what was given instead, where that was made if known)."""

    def reduced_low(self) -> Many[Place]:
        """Policies that compute in 16 bits and do not say how gradients are reduced: where they are made, the dtype."""


class CastInputs(Labelled, Protocol):
    """The inputs of a module, as its policy casts them."""

    def rounded(self) -> Answer[Place]:
        """Does the cast round numbers that have to be exact? yes: Place of the sharding, and what they become."""


class InputsCast(Event):  # a sharded module is entered, and its policy casts floating-point inputs; R
    about = "inputs"
    inputs: CastInputs


class MasterWeights(Labelled, Protocol):
    """An optimizer, and the weights of one model that it updates."""

    def low_precision(self) -> Answer[Place]:
        """Are these weights and its own states of 16 bits? yes: Place where the weights are, the dtype."""


class PoliciesTaken(Event):  # fully_shard was given its policies; S at the call, R P before the first forward
    about = "policies"
    policies: Policies


class WeightsTrained(ModelEvent):  # an optimizer updates weights of a model: where it is made; S R P
    optimizer: MasterWeights
