"""In which precision a group computes, reduces and keeps its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Many
from ..finding import Place
from .base import Event


class Policies(Protocol):
    """The policies that one call of ``fully_shard`` was given."""

    @property
    def label(self) -> str: ...

    def wrong_policies(self) -> Many[tuple[str, str]]:
        """Policies that are no policy object: (keyword, what was given instead)."""

    def reduced_low(self) -> Many[Place]:
        """Policies that compute in 16 bits and do not say how gradients are reduced: where they are made, the dtype."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoliciesTaken(Event):  # fully_shard was given its policies; S at the call, R P before the first forward
    policies: Policies

    @property
    def subject(self) -> Policies:
        return self.policies
