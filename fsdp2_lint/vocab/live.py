"""Handles of an analysis that watches a running program, with the questions that the source alone cannot answer."""

from __future__ import annotations

from typing import Protocol

from .answers import Answer, Many
from .behaviour import Behaviour
from .declared import record
from .finding import Moment, Place, Site
from .objects import Model, Named, Process, Unit

FORWARD, UNSHARD, KEEPS = "this forward", "unshard()", "set_reshard_after_backward(False)"


@record
class Leftover:
    """A group that was gathered at ``gathered`` and still was when ``stepped`` changed its shards.

    ``by``: what was called there: one of the three, as people write it.
    """

    label: str
    gathered: Moment
    stepped: Moment
    by: str


@record
class Stray:
    """A parameter that is not the DTensor that was planned at ``made``. ``put``: where it was set, if known."""

    made: Moment
    name: str
    what: str
    put: Moment | None = None


@record
class Memory:
    """What one rank holds of a model, in bytes: parameters, gradients and optimizer states.

    ``whole`` counts each value once, ``held`` is what this rank holds, and ``share`` what it would hold if each group
    were cut over its own ranks and the rest over those of the widest. ``largest`` is the group that takes most when it
    is gathered, ``largest_bytes`` in the dtype of the computation, and ``gathered_bytes`` the sum over all groups.
    ``groups`` has one line of words for each group.
    """

    at: Moment
    whole: int
    held: int
    share: float
    largest: str
    largest_bytes: int
    gathered_bytes: int
    groups: tuple[str, ...] = ()


class LiveUnit(Unit, Protocol):
    def made(self) -> Answer[Moment]:
        """Where was it sharded? yes: Moment."""

    def left_gathered(self) -> Answer[str]:
        """Is it gathered, or its memory not freed, where it should be sharded? yes: the state, in words."""


class LiveModel(Model, Protocol):
    def strays(self) -> Many[Stray]:
        """Parameters that are not the DTensors that were planned."""

    def without_optimizer(self) -> Answer[tuple[Moment, list[str]]]:
        """Are there trainable parameters that no optimizer holds? yes: (Moment of an optimizer, names)."""

    def memory(self) -> Answer[Memory]:
        """How much memory does this rank hold of it? yes: Memory."""


class LiveProcess(Process, Protocol):
    def launch_mismatch(self) -> Answer[str]:
        """Do the launcher's variables disagree with the process group? yes: how, in words."""


class Reading(Named, Protocol):
    """A DTensor whose value is read as a number."""

    def partial(self) -> Answer[tuple[str, Site | None]]:
        """Is it this rank's part of the value only? yes: the placement in words, and where it was computed if known."""

    def in_some_versions(self) -> Answer[Behaviour]:
        """Does it depend on the version of torch whether it is a part only? yes: which behaviour makes it one."""

    def sharding(self) -> Answer[Place]:
        """Where was the model sharded that it comes from? yes: Place."""
