"""What the ranks do together: batches, collectives in loops, and errors around a training step."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event, ModelEvent


# -- batches: what a model is trained on, and who else gets the same
class Batch(Protocol):
    """The input of a forward that a backward follows."""

    def same_on_every_rank(self) -> Answer[Place]:
        """Does each rank of one data-parallel mesh get this very batch? yes: Place where it comes from."""

    def same_on_every_node(self) -> Answer[Place]:
        """Do the ranks of one number on their nodes get this very batch? yes: Place where that number is taken."""

    def same_in_each_replica(self) -> Answer[Place]:
        """Do ranks of one number on a dimension of the mesh get this very batch? yes: Place where it is read."""

    def apart_in_one_unit(self) -> Answer[tuple[Place, Place]]:
        """Do ranks that share layers get batches of their own? yes: where they are dealt out, and layers split."""


class BatchTrained(ModelEvent):  # a sharded model is called with a batch that it is trained on; S
    batch: Batch


class Epochs(Protocol):
    """How often a loader of training data is gone through."""

    def same_order(self) -> Answer[Place]:
        """Does its DistributedSampler shuffle alike in each of several epochs? yes: Place where it is made."""


class LoaderRead(Event):  # a loop over a loader begins; S
    epochs: Epochs


class Sampler(Protocol):
    """What deals out the samples of a data set to the ranks."""

    def seed_differs(self) -> Answer[Place]:
        """Does each rank shuffle with a seed of its own? yes: Place where it is given."""


class SamplerMade(Event):  # a DistributedSampler is made; S
    sampler: Sampler


class Rounds(Protocol):
    """The rounds of the loops around a collective, one after the other."""

    @property
    def name(self) -> str:
        """What the collective is called."""

    def differ(self) -> Answer[Place]:
        """Do the ranks go through other elements, or in another order? yes: Place."""


class CollectiveRepeated(Event):  # a collective in a loop; S
    rounds: Rounds


# -- exceptions around a training step, and what becomes of them
class Handler(Protocol):
    """An ``except`` around a forward or backward."""

    def swallows(self) -> Answer[Place]:
        """Does it take an error of one rank, and does the loop go on? yes: Place of what it stands around."""


class StepGuarded(Event):  # a forward or backward of a sharded model stands in a try; S
    handler: Handler
