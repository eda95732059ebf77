"""What is saved and loaded."""

from __future__ import annotations

from dataclasses import dataclass

from ..handles import Model, Payload
from ..live import LivePayload
from .base import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Event):  # torch.save, safetensors: just before writing; S R P
    payload: Payload
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Event):  # model.load_state_dict; S R P
    model: Model
    payload: Payload

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLoaded(Event):  # torch.distributed.checkpoint.load: just before reading; R P
    payload: LivePayload


@dataclass(frozen=True, slots=True, kw_only=True)
class Fsdp1ContextUsed(Event):  # a class method of FSDP1 is applied to a model; S R
    name: str
    model: Model

    @property
    def subject(self) -> Model:
        return self.model
