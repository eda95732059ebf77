"""Generators of parameters, which can be read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer
from ..handles import Model
from .base import Event


class Generator(Protocol):
    """What one call of ``model.parameters()`` returned."""

    def spent(self) -> Answer:
        """Has it been read to its end before? yes: Place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorRead(Event):  # something takes all parameters out of a generator; S
    by: str
    generator: Generator
    model: Model

    @property
    def subject(self) -> Model:
        return self.model
