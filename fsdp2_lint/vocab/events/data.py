"""Batches: what a model is trained on, and who else gets the same."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event, ModelEvent


class Batch(Protocol):
    """The input of a forward that a backward follows."""

    def same_on_every_rank(self) -> Answer[Place]:
        """Does each rank of one data-parallel mesh get this very batch? yes: Place where it comes from."""

    def same_on_every_node(self) -> Answer[Place]:
        """Do the ranks of one number on their nodes get this very batch? yes: Place where that number is taken."""


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
