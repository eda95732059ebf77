"""Names of other versions of torch, and what is left of FSDP1 in a program."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..defects import Defect
from ..finding import Fix, Place
from ..objects import Labelled
from ..target import Version
from .base import Event


class Converted(Labelled, Protocol):
    """A module at a place that works for a wrapped or a plain one."""

    def converted(self) -> Answer[Place]:
        """Is it a module of FSDP2 in the runs that come here? yes: Place of the call."""


class Tested(Converted, Protocol):
    """A module of which the program asks whether FSDP1 wraps it."""

    def neglected(self) -> Answer[Place]:
        """Does the answer keep from it what a module of FSDP2 needs? yes: Place, and what in words."""


class Gathering(Converted, Protocol):
    """A module whose parameters begin to be gathered, while nobody keeps the handle to wait for them."""

    def used_too_early(self) -> Answer[Place]:
        """Does something use them before the hooks wait? yes: Place of that."""


class Use(Protocol):
    """A name, a keyword or a method of torch at a place that needs it."""

    def absent(self, version: Version) -> Answer[Place]:
        """Does this version lack it? yes: Place, and since when it is there (or no more) in words."""


class Wrapper(Protocol):
    """A call of FSDP1's class."""

    def alternative(self) -> Answer[Place]:
        """Does the program know how to shard with FSDP2 instead? yes: Place."""

    def arguments(self) -> Many[Place]:
        """What is passed beside the module, each as its keyword, or ``keyword=NAME`` where that is literal."""


class Exposed(Labelled, Protocol):
    """A model, or a part of it, that a defect of torch may concern."""

    def meets(self) -> Answer[Place]:
        """Does the program do what the defect needs? yes: Place, and what it does there."""


class DefectPossible(Event):  # a program has the first of what a defect of torch needs; S P
    about = "model"
    defect: Defect
    model: Exposed


class Fsdp1Wrapped(Event):  # FullyShardedDataParallel(model, ...); S
    wrapper: Wrapper


class ApiUsed(Event):  # something that not every version of torch has; S
    name: str
    use: Use


class Imported(Event):  # a name of torch is imported by another path than the public one; S
    path: str
    public: str
    gated: bool
    fix: Fix | None = None


class ConvertedEvent(Event):
    about = "model"
    """Something that means another thing on a module of FSDP2 than on others."""

    model: Converted


class ModuleAttributeRead(ConvertedEvent):  # ``model.module``, which only wrappers have; S
    fix: Fix | None


class ClassCompared(ConvertedEvent):  # type(m) or its name is compared with a class that was sharded; S
    with_what: str


class UnshardEntered(ConvertedEvent):  # ``with model.unshard():``; S
    pass


class Fsdp1Tested(Event):  # isinstance(model, FullyShardedDataParallel); S
    about = "model"
    model: Tested
    fix: Fix | None


class UnshardDropped(Event):  # ``model.unshard(async_op=True)`` as a statement of its own; S
    about = "model"
    model: Gathering
