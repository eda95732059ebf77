"""The state-dict helpers of DCP: ``get_model_state_dict``, ``set_state_dict`` and their kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Fix, Moment, Place
from ..handles import Named
from .base import Event, ModelEvent


@dataclass(frozen=True, slots=True)
class StrangeKeyword:
    """A keyword that a helper does not have, and the edit that gives it the name that it must have."""

    when: Moment
    name: str
    fix: Fix | None = None


class HelperCall(Named, Protocol):
    def strange_keywords(self) -> Many[StrangeKeyword]:
        """Keywords that the helper does not have."""


class Gathering(Named, Protocol):
    """A state dict that is gathered: each rank gets the full tensors."""

    def kept_on_gpu(self) -> Answer[Place]:
        """Do the full tensors stay on the GPU? yes: Place where the options are made."""


class OptimizerReading(Named, Protocol):
    """The state dict of optimizers is asked for."""

    def cold_with_gradients(self) -> Answer[Place]:
        """Has an optimizer no state, and its parameters gradients? yes: Place of the backward, the optimizer."""


class Setting(Named, Protocol):
    """A state dict is put into a model or an optimizer."""

    def empty_here(self) -> Answer[Place]:
        """Is a full state dict missing on some ranks that nothing sends it to? yes: Place, the ranks in words."""

    def broadcasts_shards(self) -> Answer[Place]:
        """Does it broadcast from rank 0 what is not asked for as a full state dict? yes: Place of the options."""


class Matching(Named, Protocol):
    """A load by names: those of a state dict, and those of a model or of a checkpoint."""

    def misses_unseen(self) -> Answer[Place]:
        """May names be missing, and are all, or does nobody look which? yes: Place that allows it, which in words."""


class HelperCalled(Event):  # a helper, or StateDictOptions, is called; S
    helper: HelperCall


class StateGathered(ModelEvent):  # a full state dict of a sharded model is asked for; S
    gathering: Gathering


class OptimizerStateRead(Event):  # just before the state of optimizers is read; S R
    reading: OptimizerReading


class StateSet(Event):  # just before a state dict is set; S R
    setting: Setting


class StateMatched(Event):  # weights are set, or a checkpoint is read, by names; S R
    loading: Matching
