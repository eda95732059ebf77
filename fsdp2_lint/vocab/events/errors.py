"""Exceptions around a training step, and what becomes of them."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event


class Handler(Protocol):
    """An ``except`` around a forward or backward."""

    def swallows(self) -> Answer[Place]:
        """Does it take an error of one rank, and does the loop go on? yes: Place of what it stands around."""


class StepGuarded(Event):  # a forward or backward of a sharded model stands in a try; S
    handler: Handler
