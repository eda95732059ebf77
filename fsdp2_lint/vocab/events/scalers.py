"""Scalers of the loss, which keep the gradients of fp16 from vanishing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer
from ..finding import Moment, Place
from .base import Event


class Scaler(Protocol):
    """A scaler, and the optimizer whose step it makes."""

    @property
    def label(self) -> str: ...

    def of_fsdp1(self) -> Answer[Place]:
        """Is it FSDP1's, on weights that FSDP2 shards? yes: Place of the call that shards."""

    def for_bfloat16(self) -> Answer[Place]:
        """Is all computed in bf16, and the scaler on? yes: Place where bf16 is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerStepped(Event):  # scaler.step(optimizer); S
    scaler: Scaler
    scaler_made: Moment

    @property
    def subject(self) -> Scaler:
        return self.scaler
