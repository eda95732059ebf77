"""What the calls of ``fully_shard`` ask for: meshes, resharding, precision, offloading."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from ..handles import Labelled
from .base import Event


class Options(Labelled, Protocol):
    """The keywords of one call."""

    def refused(self) -> Answer[Place]:
        """Does ``fully_shard`` refuse the mesh or the number of ranks? yes: where that is made, and why."""

    def misread(self) -> Answer[Place]:
        """Is a mesh of two dimensions named for other things than (replicate, shard)? yes: where it is made, how."""


class Policy(Labelled, Protocol):
    """The keywords of one call next to those of the other calls on its model."""

    def other_precision(self) -> Answer[Place]:
        """Do its layers get tensors of another dtype than its parameters have? yes: the call that makes them so."""

    def other_offloading(self) -> Answer[Place]:
        """Do calls before it have another ``offload_policy``? yes: the first of them."""

    def other_mesh(self) -> Answer[Place]:
        """Have the blocks of its model another mesh? yes: the first call on them."""

    def replicas_forgotten(self) -> Answer[Place]:
        """Has its mesh a dimension of replicas that nothing uses? yes: where it is made, and the dimension."""


class Resharding(Labelled, Protocol):
    """What becomes of the gathered parameters of a model."""

    def never(self) -> Answer[Place]:
        """Does every group keep them after forward, by the source's own word? yes: the last such call."""


class OptionsGiven(Event):  # fully_shard is called; S R
    about = "options"
    options: Options


class PolicySettled(Event):  # one call, once no further fully_shard is expected on its model; S R
    about = "policy"
    policy: Policy


class ReshardingSettled(Event):  # a model, once no further fully_shard is expected on it; S R
    about = "resharding"
    resharding: Resharding
