"""What is saved and loaded, by torch, DCP and its state-dict helpers."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..declared import record
from ..finding import Fix, Moment, Place
from ..objects import Named, Payload
from .base import Event, ModelEvent


class LoadTarget(Protocol):
    """What a load of DCP is to fill."""

    def receives_nothing(self) -> Answer[str]:
        """Is there nothing in it that a load could fill? yes: what it is, in words."""


class Saved(Event):  # torch.save, safetensors: just before writing; S R P
    payload: Payload
    by: str

    @property
    def raises(self) -> bool:
        """Does the writer read the memory of tensors, which DTensors do not have? Then it writes no shards."""
        return self.by.startswith("safetensors.")


class SharedFile(Protocol):
    """A file, as all ranks together write it."""

    def emptied(self) -> Answer[Place]:
        """Do all ranks write it, although only rank 0 has what belongs in it? yes: Place where that was gathered."""

    def of_each_rank(self) -> Answer[Place]:
        """Do all ranks write it, each with something of its own? yes: Place where they part, and what it is."""


class FileWritten(Event):  # torch.save, safetensors: just before writing; S
    file: SharedFile
    by: str


class Loaded(ModelEvent):  # model.load_state_dict; S R P
    payload: Payload


class Written(Protocol):
    """What a save of DCP writes."""

    def numbered(self) -> Answer[Place]:
        """Is the state of an optimizer in it under the numbers of its parameters? yes: Place, of which optimizer."""

    def staged(self) -> Answer[Place]:
        """Do other ranks have other parameters under these numbers? yes: Place of what makes them stages."""


class CheckpointWritten(Event):  # torch.distributed.checkpoint.save, async_save: just before writing; S R
    written: Written
    by: str


class SharedKeys(Protocol):
    """The keys of a checkpoint that all ranks write."""

    def of_each_rank(self) -> Answer[Place]:
        """Is there what each rank has for itself? yes: Place where that is read, under which key and what it is."""


class SharedKeysWritten(Event):  # torch.distributed.checkpoint.save, async_save: just before writing; S
    keys: SharedKeys
    by: str


class CheckpointLoaded(Event):  # torch.distributed.checkpoint.load: just before reading; S R P
    payload: LoadTarget


class Fsdp1ContextUsed(ModelEvent):  # a class method of FSDP1 is applied to a model; S R
    name: str


class AsyncSave(Protocol):
    """A save that goes on in the background."""

    def dropped(self) -> Answer[Place]:
        """Does nothing ever wait for its end? yes: Place, what becomes of the future."""

    def overtaken(self) -> Answer[Place]:
        """Does the next save start before anything waited for this one? yes: Place of the next save."""

    def shares_group(self) -> Answer[Place]:
        """Does training go on, meanwhile, through the process group that it uses? yes: Place of the training."""


class AsyncSaved(Event):  # dcp.async_save, once it is known what becomes of it; S R
    save: AsyncSave


class Keys(Protocol):
    """The keys of what is written."""

    def prefixed(self) -> Answer[Place]:
        """Is the name of a wrapper in them? yes: Place where it is put on, the name or such a key."""


class KeysWritten(Event):  # a state dict is written, by torch.save or DCP; S R
    keys: Keys
    by: str


class RoundTrip(Protocol):
    """A checkpoint that this job has written and reads again."""

    def changed(self) -> Answer[Place]:
        """Do this rank's values come back changed? yes: Place of the save, which values and how."""


class CheckpointReturned(Event):  # just after a load of what this job has saved; R
    trip: RoundTrip


# -- the state-dict helpers of DCP: ``get_model_state_dict``, ``set_state_dict`` and their kin
@record
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
