"""Optimizers and their steps: losses, backward, gradients that are reduced and clipped, and their use."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..behaviour import Behaviour
from ..declared import record
from ..finding import Fix, Moment, Place
from ..live import Reading
from ..objects import Labelled, Optimizer
from .base import Event, LiveModelEvent, ModelEvent


class OptimizerSettled(ModelEvent):  # its first step, or the end of a program that hands it on; S R P
    optimizer: Optimizer


class TrainingSeen(LiveModelEvent):  # a model was trained for as many steps as the analysis watches; R P
    pass


class ValueRead(Event):  # a DTensor becomes a number of Python: item(), float(), bool(); S R P
    reading: Reading


class Hyperparameters(Protocol):
    """What a learning rate, or another number of an optimizer, is made of."""

    def differ(self) -> Answer[Place]:
        """Does each rank get its own? yes: Place where that begins, and what each rank has for itself, in words."""


class HyperparametersSet(Event):  # an optimizer or a scheduler is given such a number; S
    name: str  # which number, in words
    given: Hyperparameters


# -- the order of one training step: backward, gradients that are reduced and clipped, and their use
# Of torch 2.15: until both have come, some gradients are reduced, and some not.
UNFINISHED = "set_manual_backward_finalization(True)"
NOT_AWAITED = "finalize_backward(async_op=True)"


class Synchronised(Labelled, Protocol):
    """A model whose gradients are used now."""

    def unsynchronised(self) -> Many[tuple[str, Place]]:
        """Groups whose last backward reduced no gradients: (label, the Place of the switch, with what was called)."""


class Clipped(Labelled, Protocol):
    """A model whose gradients are clipped now."""

    def used_before(self) -> Answer[Place]:
        """Have its optimizers made their step since the last backward? yes: Place of the step."""

    def by_its_own_norm(self) -> Answer[Place]:
        """Is it one stage of a pipeline of several, clipped by the norm of this stage alone? yes: where it is made."""


@record
class Carried:
    """Gradients of a group that the backward at ``left`` added up unreduced, and ``cleared`` did not clear."""

    label: str
    left: Moment
    cleared: Moment


class Carrier(Labelled, Protocol):
    """A model whose gradients were cleared since the backward before this one."""

    def carried_over(self) -> Many[Carried]:
        """Gradients that were cleared in vain, and that this backward adds to."""

    def reset_by(self) -> Answer[Behaviour]:
        """Does the program call ``reset_iter_state()``? yes: what that does to such gradients, in some versions."""

    def reset_in_time(self) -> Answer[Place]:
        """Does that surely come between the two backwards? yes: where."""


@record
class Unseen:
    """Gradients of a group that the call at ``clipped`` did not see. ``why``: what hid them, and how, in words."""

    label: str
    clipped: Moment
    why: Place


class Limited(Labelled, Protocol):
    """A model whose gradients were clipped, and are used now."""

    def unseen(self) -> Many[Unseen]:
        """Gradients that an optimizer uses and that the last clipping did not see."""


class GradientsUsed(Event):  # just before an optimizer updates parameters of this model; S R P
    about = "model"
    model: Synchronised


class GradientsClipped(Event):  # torch.nn.utils.clip_grad_norm_ and its kin; S R P
    about = "model"
    model: Clipped


class BackwardBegun(Event):  # a backward begins, and gradients of this model were cleared since the one before; S R
    about = "model"
    model: Carrier


class ClippedUsed(Event):  # just before an optimizer updates parameters whose gradients were clipped; S R
    about = "model"
    model: Limited


# -- what becomes of losses and gradients on their way to the optimizer: how they are divided, and who takes them
@record
class Divides:
    """The gradients of one group are divided by one number and those of another by another.

    ``said``: where the one is given its number. ``other_made``: where the other is sharded.
    """

    label: str
    by: str
    said: Moment
    other: str
    other_by: str
    other_made: Moment


class Dividing(Labelled, Protocol):
    """A model whose groups divide the gradients that they reduce."""

    def unevenly(self) -> Many[Divides]:
        """Groups that are given a number to divide by, where others of the model divide by another one."""


class GradientsDivided(Event):  # a group is given a number to divide by, or a backward has ended; S R
    about = "model"
    model: Dividing


class Differentiated(Labelled, Protocol):
    """A model whose parameters a gradient is taken of, past ``backward``."""

    def unreduced(self) -> Answer[Place]:
        """Does nothing reduce that gradient over the ranks that share the parameters? yes: where they are sharded."""


class GradientsAsked(Event):  # torch.autograd.grad with respect to parameters; S R
    about = "model"
    model: Differentiated


class Reduction(Protocol):
    """A tensor whose values are combined over the ranks, in place."""

    def differentiated(self) -> Answer[Place]:
        """Does a backward of a sharded model start from this tensor afterwards? yes: Place."""


class TensorReduced(Event):  # dist.all_reduce; S
    reduction: Reduction


# -- generators of parameters, which can be read once
@record
class Spent:
    """Where a generator was read to its end, or made too early, and the edit that makes a list of it."""

    when: Moment
    words: str
    fix: Fix | None = None


class Generator(Protocol):
    """What one call of ``model.parameters()`` returned."""

    def spent(self) -> Answer[Spent]:
        """Has it been read to its end before? yes: Spent."""


class GeneratorRead(ModelEvent):  # something takes all parameters out of a generator; S
    by: str
    generator: Generator


# -- methods that FSDP1's wrapper had, and a module that ``fully_shard`` shards has not
class AskedModel(Labelled, Protocol):
    """A model that is asked for a method of FSDP1, such as ``no_sync``."""

    def lacks_it(self) -> Answer[Place]:
        """Is it always sharded by FSDP2 here, and without this method? yes: Place of the call that sharded it."""

    def goes_on(self) -> Answer[Place]:
        """Does the program go on without the method, as with hasattr and getattr? yes: Place of the question."""


class MethodAsked(Event):
    about = "model"
    model: AskedModel


class NoSyncAsked(MethodAsked):  # model.no_sync, or whether there is one; S R
    pass


class ClipAsked(MethodAsked):  # model.clip_grad_norm_; S
    fix: Fix | None


# -- copies of models
class Copied(ModelEvent):  # a module is copied as a whole; S
    by: str
