"""Sharding: each call of ``fully_shard``, and the plan that they make together."""

from __future__ import annotations

from dataclasses import dataclass

from ..finding import Fix
from ..handles import Model, Unit
from .base import Event, LiveUnitEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharded(Event):  # just before fully_shard replaces the parameters; S R P
    unit: Unit

    @property
    def subject(self) -> Unit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordPassed(Event):  # a keyword reaches fully_shard; S
    keyword: str
    unit: Unit
    fix: Fix | None = None

    @property
    def subject(self) -> Unit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettled(Event):  # no further fully_shard is expected on this model; S R P
    model: Model

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReady(LiveUnitEvent):  # the first forward of its model begins, and nothing is gathered yet; R P
    pass
