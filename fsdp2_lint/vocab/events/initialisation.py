"""Parameters and buffers get their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from .base import Event


class Fresh(Protocol):
    """A model whose memory ``to_empty`` allocated."""

    @property
    def label(self) -> str: ...

    def uninitialised(self) -> Answer[tuple[Moment, list[str]]]:
        """Did ``to_empty`` allocate parameters that nothing has written since? yes: (Moment, names)."""

    def written_in_other_runs(self) -> Many[Place]:
        """Where other runs of the program write the parameters, and this one does not."""

    def unrestored_buffers(self) -> Answer[tuple[Moment, list[str]]]:
        """The same for buffers. yes: (Moment, names)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEvent(Event):
    model: Fresh

    @property
    def subject(self) -> Fresh:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised(FreshEvent):  # the first forward of a model begins whose memory to_empty allocated; S R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSeen(FreshEvent):  # the first forward of such a model has ended, which may have filled buffers; S R P
    pass


class Hollow(Protocol):
    """A model that was made on the meta device."""

    @property
    def label(self) -> str: ...

    def left_on_meta(self) -> Answer[Place]:
        """Does nothing give it memory before it runs? yes: Place of its making."""

    def sharded_at(self) -> Many[Place]:
        """Where ``fully_shard`` took it."""

    def written_in_other_runs(self) -> Many[Place]:
        """Where other runs of the program give it memory, and this one does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowCalled(Event):  # a sharded model that was made on the meta device runs for the first time; S P
    model: Hollow

    @property
    def subject(self) -> Hollow:
        return self.model


class Initialised(Protocol):
    """A module whose ``reset_parameters`` is called."""

    @property
    def label(self) -> str: ...

    def without_reset_parameters(self) -> Answer[Place]:
        """Does its class not have that method? yes: Place of the class, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetCalled(Event):  # reset_parameters is called on a sharded model, or on one without values; S P
    model: Initialised

    @property
    def subject(self) -> Initialised:
        return self.model


class Write(Protocol):
    """A write to a parameter through a slice of it, or through its ``data``."""

    def lost(self) -> Answer[Place]:
        """Is the parameter sharded by then, so that nothing reaches it? yes: Place of the sharding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterWritten(Event):  # by either of the two ways that end beside a sharded parameter; S
    write: Write
    exchanged: bool  # its data is set to another tensor

    @property
    def subject(self) -> Write:
        return self.write


class Starting(Protocol):
    """A model as the first ``fully_shard`` on it finds it, in the words of its source."""

    @property
    def label(self) -> str: ...

    def loaded_by_some(self) -> Answer[Place]:
        """Have only some ranks loaded it, and do the others never get these weights? yes: Place of the load."""

    def seeded_by_rank(self) -> Answer[Place]:
        """Has each rank drawn other weights, which nothing replaces? yes: Place of the seed."""

    def replicated(self) -> Answer[object]:
        """Is it sharded on a mesh with replicas (HSDP)?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingSeen(Event):  # the first fully_shard on a model; S
    model: Starting

    @property
    def subject(self) -> Starting:
        return self.model
