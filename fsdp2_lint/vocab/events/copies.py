"""Copies of models."""

from __future__ import annotations

from dataclasses import dataclass

from ..handles import Model
from .base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Event):  # a module is copied as a whole; S
    by: str
    model: Model

    @property
    def subject(self) -> Model:
        return self.model
