"""Methods that FSDP1's wrapper had, and a module that ``fully_shard`` shards has not."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Fix, Place
from ..handles import Labelled
from .base import Event


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
