"""In which precision a group computes, reduces and keeps its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Place, Site
from ..handles import Model
from .base import Event


class Policies(Protocol):
    """The policies that one call of ``fully_shard`` was given."""

    @property
    def label(self) -> str: ...

    def wrong_policies(self) -> Many[tuple[str, str, Site | None]]:
        """Policies that are no policy object: (keyword, what was given instead, where that was made if known)."""

    def reduced_low(self) -> Many[Place]:
        """Policies that compute in 16 bits and do not say how gradients are reduced: where they are made, the dtype."""


class MasterWeights(Protocol):
    """An optimizer, and the weights of one model that it updates."""

    @property
    def label(self) -> str: ...

    def low_precision(self) -> Answer[Place]:
        """Are these weights and its own states of 16 bits? yes: Place where the weights are, the dtype."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoliciesTaken(Event):  # fully_shard was given its policies; S at the call, R P before the first forward
    policies: Policies

    @property
    def subject(self) -> Policies:
        return self.policies


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsTrained(Event):  # an optimizer updates weights of a model: where it is made; S R P
    optimizer: MasterWeights
    model: Model

    @property
    def subject(self) -> Model:
        return self.model
