"""Sharding: each call of ``fully_shard``, and the plan that they make together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer
from ..finding import Fix, Place, Site
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
    mapping: Site | None = None  # of a keyword that came in a dict: the call that ran the code around

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


class Offload(Protocol):
    """Parameters on the CPU, and the process group that reduces them."""

    def without_cpu_backend(self) -> Answer[Place]:
        """Is there no backend for CPU tensors? yes: Place of the group's making, and the backend that there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offloaded(Event):  # a group is sharded with CPUOffloadPolicy; S R P
    offload: Offload
    unit: Unit

    @property
    def subject(self) -> Unit:
        return self.unit


class Resident(Protocol):
    """A model as the first ``fully_shard`` on it finds it."""

    @property
    def label(self) -> str: ...

    def moved_whole(self) -> Answer[Place]:
        """Do all of its parameters lie on a GPU, not cut? yes: Place of the move, and how, in words."""

    def known_small(self) -> Answer[object]:
        """Are they known to take less than a GiB? What the witness cannot count is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingBegun(Event):  # the first fully_shard on a model, or on a part of it; S R
    model: Resident

    @property
    def subject(self) -> Resident:
        return self.model
