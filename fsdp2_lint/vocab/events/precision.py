"""In which precision a group computes, reduces and keeps its weights, and what scales the loss."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place, Site
from ..objects import Labelled
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


# -- scalers of the loss, which keep the gradients of fp16 from vanishing
class Scaler(Labelled, Protocol):
    """A scaler, and the optimizer whose step it makes."""

    def of_fsdp1(self) -> Answer[Place]:
        """Is it FSDP1's, on weights that FSDP2 shards? yes: Place of the call that shards."""

    def for_bfloat16(self) -> Answer[Place]:
        """Is all computed in bf16, and the scaler on? yes: Place where bf16 is chosen."""


class ScalerStepped(Event):  # scaler.step(optimizer); S
    about = "scaler"
    scaler: Scaler
    scaler_made: Moment
