"""Sharding: each call of ``fully_shard``, and the plan that they make together."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Fix, Place, Site
from ..handles import Labelled, Model, Unit
from .base import Event


class Sharded(Event):  # just before fully_shard replaces the parameters; S R P
    about = "unit"
    unit: Unit


class KeywordPassed(Event):  # a keyword reaches fully_shard; S
    about = "unit"
    keyword: str
    unit: Unit
    fix: Fix | None = None
    mapping: Site | None = None  # of a keyword that came in a dict: the call that ran the code around


class PlanSettled(Event):  # no further fully_shard is expected on this model; S R P
    about = "model"
    model: Model


class RootSharded(Event):  # a model itself is sharded wherever a part of it is, with all its parameters; S
    about = "model"
    model: Model


class Offload(Protocol):
    """Parameters on the CPU, and the process group that reduces them."""

    def without_cpu_backend(self) -> Answer[Place]:
        """Is there no backend for CPU tensors? yes: Place of the group's making, and the backend that there is."""


class Offloaded(Event):  # a group is sharded with CPUOffloadPolicy; S R P
    about = "unit"
    offload: Offload
    unit: Unit


class Resident(Labelled, Protocol):
    """A model as the first ``fully_shard`` on it finds it."""

    def moved_whole(self) -> Answer[Place]:
        """Do all of its parameters lie on a GPU, not cut? yes: Place of the move, and how, in words."""

    def known_small(self) -> Answer[object]:
        """Are they known to take less than a GiB? What the witness cannot count is not."""


class ShardingBegun(Event):  # the first fully_shard on a model, or on a part of it; S R
    about = "model"
    model: Resident
