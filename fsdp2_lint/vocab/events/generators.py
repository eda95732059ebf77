"""Generators of parameters, which can be read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer
from ..finding import Fix, Moment
from .base import ModelEvent


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a generator was read to its end, or made too early, and the edit that makes a list of it."""

    when: Moment
    words: str
    fix: Fix | None = None


class Generator(Protocol):
    """What one call of ``model.parameters()`` returned."""

    def spent(self) -> Answer[Spent]:
        """Has it been read to its end before? yes: Spent."""


class GeneratorRead(ModelEvent):  # something takes all parameters out of a generator; S
    by: str
    generator: Generator
