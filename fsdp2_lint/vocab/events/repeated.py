"""Collectives in loops."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event


class Rounds(Protocol):
    """The rounds of the loops around a collective, one after the other."""

    @property
    def name(self) -> str:
        """What the collective is called."""

    def differ(self) -> Answer[Place]:
        """Do the ranks go through other elements, or in another order? yes: Place."""


class CollectiveRepeated(Event):  # a collective in a loop; S
    rounds: Rounds
