"""What is saved and loaded."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from ..handles import Payload
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
