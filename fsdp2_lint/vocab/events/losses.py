"""Losses, and what is done to them between forward and backward."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event


class Reduction(Protocol):
    """A tensor whose values are combined over the ranks, in place."""

    def differentiated(self) -> Answer[Place]:
        """Does a backward of a sharded model start from this tensor afterwards? yes: Place."""


class TensorReduced(Event):  # dist.all_reduce; S
    reduction: Reduction
