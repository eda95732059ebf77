"""Sharding: each call of ``fully_shard``, and the plan that they make together."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Fix, Place, Site
from ..handles import Labelled, Unit
from .base import Event, ModelEvent


class Sharded(Event):  # just before fully_shard replaces the parameters; S R P
    about = "unit"
    unit: Unit


class KeywordPassed(Event):  # a keyword reaches fully_shard; S
    about = "unit"
    keyword: str
    unit: Unit
    fix: Fix | None = None
    mapping: Site | None = None  # of a keyword that came in a dict: the call that ran the code around


class PlanSettled(ModelEvent):  # no further fully_shard is expected on this model; S R P
    takes_all: bool = False  # its own call comes wherever a part of it is sharded, and leaves out no parameter; S


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
