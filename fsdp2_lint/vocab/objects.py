"""The objects that events are about, and the questions that rules may ask of them.

These are protocols: the static analysis answers from its abstract trace, the runtime
analysis from live objects. A question that an analysis cannot answer is unknown, and
using an unknown answer abstains (see :mod:`fsdp2_lint.vocab.answers`).
"""

from __future__ import annotations

from typing import Protocol

from .answers import Answer, Many
from .declared import record
from .finding import Fix, Moment, Place, Site


@record
class Stale:
    """An optimizer read parameters at ``read`` that ``replaced`` took away or will take away.

    ``given``: the optimizer came in finished, next to the model; ``read`` is the function that took both.
    """

    read: Moment
    replaced: Moment
    label: str
    given: bool = False
    fix: Fix | None = None


class Labelled(Protocol):
    """What is called something in the words of its reader."""

    @property
    def label(self) -> str: ...


class Named(Protocol):
    """What has a name in the program."""

    @property
    def name(self) -> str: ...


class Unit(Labelled, Protocol):
    """One group of FSDP2: what one call of ``fully_shard`` shards together."""

    def inside(self) -> Answer[Moment]:
        """Is it part of a module that is sharded already? yes: Moment of the outer call."""

    def repeated(self) -> Answer[Moment]:
        """Was the same module sharded before? yes: Moment of the earlier call."""

    def container_without_forward(self) -> Answer[str]:
        """Is it a ModuleList or ModuleDict without a forward? yes: the class name."""


class Model(Labelled, Protocol):
    """A module and all below it."""

    def units(self) -> Many[Moment]:
        """The calls of ``fully_shard`` on it or on a part of it, so far."""

    def touched(self) -> Many[Moment]:
        """The calls of ``fully_shard`` so far that left DTensors in it: on it, a part of it, or its holder."""

    def inner_units(self) -> Many[Moment]:
        """Those on parts of it only."""

    def sharded(self) -> Answer[Moment]:
        """Is this very module sharded? yes: Moment of the call."""

    def one_group(self) -> Answer[Moment]:
        """Is it gathered as one group (root alone, or one list of all blocks)? yes: Moment."""

    def trained(self) -> Answer[object]:
        """Does the program train it (backward or an optimizer's step)?"""

    def frozen(self) -> Answer[object]:
        """Does the program freeze it, as it does with a reference model? yes: Moment."""

    def repeats(self) -> Answer[str]:
        """Has it a stack of blocks that could be sharded one by one? yes: its name."""

    def parameter_count(self) -> Answer[int]:
        """How many parameters? yes: the number."""

    def outside(self) -> Answer[list[str]]:
        """Do trainable parameters lie in no group? yes: their names."""

    def added_late(self) -> Many[tuple[Moment, str, Moment]]:
        """What was attached after sharding: (when, name, the call that had sharded the owner)."""

    def hooks_bypassed(self, method: str) -> Answer[Place | None]:
        """Would this method, called directly, run without FSDP2's hooks? yes: where it was registered too early."""

    def wrapped(self) -> Answer[object]:
        """Do FSDP1's own class methods see an FSDP1 model here?"""


class Optimizer(Labelled, Protocol):
    def replaced(self) -> Many[Stale]:
        """Parameters that it read before ``fully_shard`` replaced them."""

    def temporary(self) -> Many[Stale]:
        """Gathered parameters that it read after a forward left the root unsharded."""

    def unsafe_on_shards(self) -> Answer[Place]:
        """Does it fail on sharded parameters? yes: Place where they were sharded, and what it does, in words."""


@record
class Shards:
    """A part of what is written that holds only this rank's shard, in words; and where that was read, if elsewhere."""

    words: str
    read_at: Site | None = None


class Payload(Protocol):
    """What is written to or read from a file."""

    def shards(self) -> Many[Shards]:
        """The parts of it that hold only this rank's shard."""

    def path_per_rank(self) -> Answer[object]:
        """Does every rank use a file of its own?"""

    def full_tensors(self) -> Answer[object]:
        """Does it hold plain, full tensors? yes: Moment at which they were read."""


class Collection(Named, Protocol):
    """A collective operation at one place of the program."""

    def needs_model(self) -> Answer[object]:
        """Is it a collective at all? A forward is one only on a sharded model."""

    def excluded_ranks(self) -> Answer[tuple[Moment | None, str]]:
        """Is it reached by some ranks only? yes: Moment of the deciding condition, and which ranks."""

    def decided_by_each(self) -> Answer[Place]:
        """Does each rank come here or not by what it alone has? yes: Place of the condition, and what that asks for."""

    def matched(self) -> Answer[Moment]:
        """Do the other ranks issue their counterpart elsewhere?"""


class Device(Named, Protocol):
    def from_global_rank(self) -> Answer[Site | None]:
        """Is the index the rank in the whole job? yes: where that is read, as far as it is known."""

    def touched_before(self) -> Answer[tuple[Moment, str]]:
        """Was CUDA used before this selection? yes: (Moment, words) of that use."""


class Process(Protocol):
    """One rank's process, as the program defines it."""

    def device_selected(self) -> Answer[object]:
        """Does any reachable code select this rank's GPU?"""

    def current_device_used(self) -> Answer[tuple[Moment, str]]:
        """Is "the current CUDA device" used? yes: (Moment, words) of the first use."""

    def mesh_made(self) -> Answer[Moment]:
        """Is a CUDA mesh made, or a model sharded? yes: Moment of the first."""
