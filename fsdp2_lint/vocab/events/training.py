"""Optimizers, their steps, and numbers that are read off gradients."""

from __future__ import annotations

from dataclasses import dataclass

from ..handles import Model, Optimizer
from ..live import Reading
from .base import Event, LiveModelEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSettled(Event):  # its first step, or the end of a program that hands it on; S R P
    optimizer: Optimizer
    model: Model

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSeen(LiveModelEvent):  # a model was trained for as many steps as the witness watches; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRead(Event):  # a DTensor becomes a number of Python: item(), float(), bool(); S R P
    reading: Reading
