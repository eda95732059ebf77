"""What ranks do together, or each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from astroid import nodes

from ....vocab.finding import Moment
from ..values import Value
from .base import AsksRanks, Counted, Event, InLoops


class Collective(Counted, AsksRanks, InLoops):
    """All ranks of a group must come here. The step's subject is the model that it is about, if it is about one."""

    words: ClassVar[str] = "collective"
    name: str
    group: Value | None  # None: all ranks of the job
    sure: bool  # it surely is one, and not a call that needs no other rank
    given: Sequence[Value] | None = None  # what the ranks exchange. None: not kept


class Uneven(Counted):
    """A loop goes through what some ranks have not, or have in another order."""

    words: ClassVar[str] = "loop over what differs by rank"
    loop: nodes.NodeNG  # the statement, or the comprehension
    how: str = ""
    why: str = ""  # where that is so only perhaps
    in_part: bool = False  # it is that some elements are there on some ranks only
    keys: tuple[Value, ...] = ()  # of a dict, under which it was filled: perhaps in another order


class LoopLeft(AsksRanks):
    """Loops are left before their end, in a program that has sharded or has met what each rank has for itself."""

    loops: Sequence[nodes.NodeNG]  # of one function, the innermost first


class Seeded(Counted):
    """Generators of random numbers are seeded."""

    words: ClassVar[str] = "setting of a seed"
    generators: tuple[str, ...]
    differs: bool | None  # the seed is another one on each rank. None: not known
    by_rank: bool  # it is written as a number of the rank
    given: Value | None  # the seed; None where the machine makes one up


class NumberDrawn(Event):
    """Python's or numpy's own generator of random numbers goes on."""

    generator: str


class OrderShared(Event):
    """Each rank takes its part of a permutation, which it may have drawn as no other rank has."""

    drawn: Moment
    generator: str  # the common one that it was drawn from; empty: one that is surely seeded by the rank


class Sampler(Counted):
    """A distributed sampler, the step's subject, is made."""

    words: ClassVar[str] = "distributed sampler"


class Loader(Event):
    """A data loader, the step's subject, is made."""


class LoaderRead(Event):
    """A loop goes through a data loader, the step's subject."""


class EpochSet(Event):
    """``set_epoch`` is called, on a sampler as a rule."""

    epoch: Value
