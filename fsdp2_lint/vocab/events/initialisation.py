"""Parameters and buffers get their values."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from ..objects import Labelled
from .base import Event


class EmptiedModel(Labelled, Protocol):
    """A model whose memory ``to_empty`` allocated."""

    def uninitialised(self) -> Answer[tuple[Moment, list[str]]]:
        """Did ``to_empty`` allocate parameters that nothing has written since? yes: (Moment, names)."""

    def written_in_other_runs(self) -> Many[Place]:
        """Where other runs of the program write the parameters, and this one does not."""

    def unrestored_buffers(self) -> Answer[tuple[Moment, list[str]]]:
        """The same for buffers. yes: (Moment, names)."""


class EmptiedEvent(Event):
    about = "model"
    model: EmptiedModel


class Materialised(EmptiedEvent):  # the first forward of a model begins whose memory to_empty allocated; S R P
    pass


class ForwardSeen(EmptiedEvent):  # the first forward of such a model has ended, which may have filled buffers; S R P
    pass


class MetaModel(Labelled, Protocol):
    """A model that was made on the meta device."""

    def left_on_meta(self) -> Answer[Place]:
        """Does nothing give it memory before it runs? yes: Place of its making."""

    def sharded_at(self) -> Many[Place]:
        """Where ``fully_shard`` took it."""

    def written_in_other_runs(self) -> Many[Place]:
        """Where other runs of the program give it memory, and this one does not."""


class MetaModelCalled(Event):  # a sharded model that was made on the meta device runs for the first time; S P
    about = "model"
    model: MetaModel


class Drawn(Labelled, Protocol):
    """A model whose shards get random values."""

    def same_numbers(self) -> Answer[Place]:
        """Do all ranks draw the same numbers for their shards? yes: Place where these got memory on the CPU."""


class ShardsDrawn(Event):  # parameters that are sharded by then get random values, which are trained; S
    about = "model"
    model: Drawn


class Initialised(Labelled, Protocol):
    """A module whose ``reset_parameters`` is called."""

    def without_reset_parameters(self) -> Answer[Place]:
        """Does its class not have that method? yes: Place of the class, where that is known."""


class ResetCalled(Event):  # reset_parameters is called on a sharded model, or on one without values; S P
    about = "model"
    model: Initialised


class Write(Protocol):
    """A write to a parameter through a slice of it, or through its ``data``."""

    def lost(self) -> Answer[Place]:
        """Is the parameter sharded by then, so that nothing reaches it? yes: Place of the sharding."""


class ParameterWritten(Event):  # by either of the two ways that end beside a sharded parameter; S
    about = "write"
    write: Write
    exchanged: bool  # its data is set to another tensor


class InitialWeights(Labelled, Protocol):
    """A model as the first ``fully_shard`` on it finds it, in the words of its source."""

    def loaded_by_some(self) -> Answer[Place]:
        """Have only some ranks loaded it, and do the others never get these weights? yes: Place of the load."""

    def seeded_by_rank(self) -> Answer[Place]:
        """Has each rank drawn other weights, which nothing replaces? yes: Place of the seed."""

    def replicated(self) -> Answer[object]:
        """Is it sharded on a mesh with replicas (HSDP)?"""


class InitialWeightsSeen(Event):  # the first fully_shard on a model; S
    about = "model"
    model: InitialWeights
