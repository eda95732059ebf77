"""Optimizers, their steps, and numbers that are read off gradients."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from ..handles import Optimizer
from ..live import Reading
from .base import Event, LiveModelEvent, ModelEvent


class OptimizerSettled(ModelEvent):  # its first step, or the end of a program that hands it on; S R P
    optimizer: Optimizer


class TrainingSeen(LiveModelEvent):  # a model was trained for as many steps as the witness watches; R P
    pass


class ValueRead(Event):  # a DTensor becomes a number of Python: item(), float(), bool(); S R P
    reading: Reading


class Hyperparameters(Protocol):
    """What a learning rate, or another number of an optimizer, is made of."""

    def differ(self) -> Answer[Place]:
        """Does each rank get its own? yes: Place where that begins, and what each rank has for itself, in words."""


class HyperparametersSet(Event):  # an optimizer or a scheduler is given such a number; S
    name: str  # which number, in words
    given: Hyperparameters
