"""The dtypes in which weights are kept and in which is computed."""

from __future__ import annotations

from typing import ClassVar

from ..values import AbstractObject
from .base import Counted, Event


class Cast(Counted):
    """The parameters of the step's subject get a dtype."""

    words: ClassVar[str] = "change of dtype"
    dtype: str


class DefaultDtype(Event):
    """From here on tensors are made with this dtype."""

    dtype: str


class Autocast(Counted):
    """A body computes in this dtype. Empty: not known, or the default."""

    words: ClassVar[str] = "autocast"
    dtype: str


class Scaled(Event):
    """A scaler of the loss makes the step of an optimizer, the step's subject."""

    scaler: AbstractObject
