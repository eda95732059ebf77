"""Scalers of the loss, which keep the gradients of fp16 from vanishing."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Moment, Place
from ..handles import Labelled
from .base import Event


class Scaler(Labelled, Protocol):
    """A scaler, and the optimizer whose step it makes."""

    def of_fsdp1(self) -> Answer[Place]:
        """Is it FSDP1's, on weights that FSDP2 shards? yes: Place of the call that shards."""

    def for_bfloat16(self) -> Answer[Place]:
        """Is all computed in bf16, and the scaler on? yes: Place where bf16 is chosen."""


class ScalerStepped(Event):  # scaler.step(optimizer); S
    about = "scaler"
    scaler: Scaler
    scaler_made: Moment
