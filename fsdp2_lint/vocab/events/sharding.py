"""Each call of ``fully_shard``, the plan that they make together, and what else is done to the models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Fix, Moment, Place, Site
from ..objects import Labelled, Unit
from .base import Event, ModelEvent


# -- sharding: each call of ``fully_shard``, and the plan that they make together
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


@dataclass(frozen=True, slots=True)
class MovedWhole(Place):
    """Where a model came to lie on a GPU, how, in words, and its name, or that of a larger one that holds it."""

    model: str = ""


class Placement(Labelled, Protocol):
    """A model as the first ``fully_shard`` on it finds it."""

    def moved_whole(self) -> Answer[MovedWhole]:
        """Do all of its parameters lie on a GPU, not cut?"""

    def known_small(self) -> Answer[object]:
        """Are they known to take less than a GiB? What the analysis cannot count is not."""


class ShardingBegun(Event):  # the first fully_shard on a model, or on a part of it; S R
    about = "model"
    model: Placement


# -- what the calls of ``fully_shard`` ask for: meshes, resharding, precision, offloading
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


# -- the groups that a plan makes, once it is complete
class Grouping(Labelled, Protocol):
    """One group, and what lies in it."""

    def made(self) -> Answer[Moment]:
        """Where was it sharded? yes: Moment."""

    def tied_elsewhere(self) -> Many[tuple[str, Moment]]:
        """Its parameters that another group has taken already: (name, that earlier call)."""

    def tied_again(self) -> Answer[Place]:
        """Are they made one parameter again after the sharding, before the first forward? yes: where."""

    def mixed_dtypes(self) -> Answer[str]:
        """Do its trainable parameters differ in dtype? yes: the dtypes, in words."""

    def ignored_names(self) -> Many[str]:
        """Strings in ``ignored_params``, where only parameters count."""

    def ignored_trained(self) -> Answer[Place]:
        """Are parameters in ``ignored_params`` trained, and nothing reduces their gradients? yes: the optimizer."""

    def empty_shards(self) -> Answer[Place]:
        """Do some ranks hold nothing of a parameter that matters? yes: the call, and which parameters."""


class GroupSettled(Event):  # the first forward of its model begins, or the program ends; S R
    about = "group"
    group: Grouping


# -- parameters are replaced by ``fully_shard``, and what was tied to the old ones is gone
class Replacement(Labelled, Protocol):
    """The parameters that one call replaced, as their program goes on to use them."""

    def hooks_lost(self) -> Answer[Place]:
        """Were gradient hooks registered on the old ones, and is the model trained? yes: where, and which."""

    def attributes_lost(self) -> Answer[Place]:
        """Is an attribute read that was set on the old ones? yes: where it is read, and its name."""

    def state_lost(self) -> Answer[str]:
        """Was that attribute the state of parameters of a class of their own? yes: the class, in words."""

    def aliases_used(self) -> Answer[Place]:
        """Are the old ones used, as those of the model? yes: where, and for what."""


class ParametersReplaced(Event):  # one call of fully_shard, once its model is trained; S R
    about = "replacement"
    replacement: Replacement


# -- what else is done to models: other wrappers, tensor parallelism, checkpointing, compilation
class Composition(Labelled, Protocol):
    """A module, or its parameters, at the moment at which something else takes hold of it."""

    def sharded_before(self) -> Answer[Place]:
        """Was it, or a part of it, sharded before? yes: that call."""

    def compiled_before(self) -> Answer[Place]:
        """Was it compiled before? yes: that call."""

    def outermost(self) -> Answer[Place]:
        """Is it the whole model, and not one block of it? yes: where it is."""


class CompositionEvent(Event):
    about = "composition"
    composition: Composition


class WrappedAgain(CompositionEvent):  # DDP or FSDP1 is put around a module; S R
    by: str


class ParametersExchanged(CompositionEvent):  # a collective is called on a parameter or its gradient; S R
    name: str


class TensorParallelised(CompositionEvent):  # parallelize_module; S
    pass


class Checkpointed(CompositionEvent):  # activation checkpointing is put around a module; S
    pass


class Compiled(CompositionEvent):  # torch.compile; S
    whole_graph: bool
