"""What ranks do together, or each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..values import Value
from .base import AsksRanks, Counted, Event


class Collective(Counted, AsksRanks):
    """All ranks of a group must come here. The step's subject is the model that it is about, if it is about one."""

    words: ClassVar[str] = "collective"
    name: str
    group: Value | None  # None: all ranks of the job
    sure: bool  # it surely is one, and not a call that needs no other rank
    given: Sequence[Value] | None = None  # what the ranks exchange. None: not kept


class Broadcast(Event):
    """``dist.broadcast`` in a loop."""

    tensor: Value


class Uneven(Event):
    """A loop goes through elements of which some are there on some ranks only."""


class Seeded(Counted):
    """Generators of random numbers are seeded."""

    words: ClassVar[str] = "setting of a seed"
    generators: tuple[str, ...]
    differs: bool | None  # the seed is another one on each rank. None: not known
    by_rank: bool  # it is written as a number of the rank


class Sampler(Event):
    """A distributed sampler, the step's subject, is made."""


class Loader(Event):
    """A data loader, the step's subject, is made."""


class LoaderRead(Event):
    """A loop goes through a data loader, the step's subject."""


class EpochSet(Event):
    """``set_epoch`` is called, on a sampler as a rule."""
