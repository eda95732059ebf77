"""Broadcasts in loops."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event


class Names(Protocol):
    """What a loop goes through that broadcasts one tensor in each round."""

    def differ(self) -> Answer[Place]:
        """Do the ranks go through other names, or in another order? yes: Place."""


class BroadcastRepeated(Event):  # dist.broadcast in a loop; S
    names: Names
