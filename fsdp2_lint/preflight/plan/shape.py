"""What a rehearsal saw, as plain values that go through JSON. Without torch: readers of a report need none.

All sizes are bytes of one rank, unless a field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import prod

from ...vocab.finding import Finding, Site


@dataclass(frozen=True, slots=True)
class MeshShape:
    names: tuple[str, ...]  # empty where its dimensions have none
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        sizes = " x ".join(map(str, self.sizes))
        return f"{sizes} ({', '.join(self.names)})" if self.names else sizes


@dataclass(frozen=True, slots=True)
class PlannedParam:
    """``shape`` is what the ranks of a group share: under tensor parallelism the part of ``whole`` that they have."""

    fqn: str
    also: tuple[str, ...]  # its further names, where weights are tied
    shape: tuple[int, ...]
    whole: tuple[int, ...]
    dtype: str
    itemsize: int
    gathered_dtype: str
    gathered_itemsize: int
    dimension: int  # along which it is cut
    placements: tuple[str, ...]
    trained: bool
    held: int  # what this rank has of it

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Unsharded, in its own dtype."""
        return self.numel * self.itemsize


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """What is gathered and freed together. ``reshards``: after forward; a number where it is cut over so many ranks."""

    fqn: str  # empty for the root
    label: str  # the class of its module
    params: tuple[PlannedParam, ...]
    mesh: MeshShape
    shards: int
    shard_rank: int
    replicas: int
    reshards: bool | int
    reshards_after_backward: bool
    reduce_dtype: str  # of its gradients, while they are reduced
    reduce_itemsize: int
    offloaded: bool  # its shards are in the memory of the host
    own_gather: bool  # its tensors say themselves what is gathered, so the size of that is not known
    root: bool
    at: Site | None  # the call that sharded it

    @property
    def name(self) -> str:
        return self.fqn or "(root)"

    @property
    def held(self) -> int:
        return sum(each.held for each in self.params)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.params)


@dataclass(frozen=True, slots=True)
class LooseParam:
    """A parameter in no group: every rank has what it has, and nobody reduces its gradient."""

    fqn: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    trained: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How ``rank`` sees the model. ``numel``: the numbers in all parameters of the whole model, each once."""

    rank: int
    world_size: int
    label: str
    numel: int
    groups: tuple[PlannedGroup, ...]
    loose: tuple[LooseParam, ...]
    buffers: int

    @property
    def held(self) -> int:
        return sum(each.held for each in self.groups)


@dataclass(frozen=True, slots=True)
class Collective:
    """What one group issues in a step. ``bytes``: the whole tensor; ``sent``: by one rank, all of them together."""

    group: str
    kind: str
    ranks: int
    count: int
    bytes: int
    sent: int


@dataclass(frozen=True, slots=True)
class State:
    """What a rank holds from step to step, in closed form; of the gathered groups the largest."""

    parameters: int
    gradients: int
    optimizer: int
    loose: int  # parameters in no group, with their gradients and optimizer states
    buffers: int
    host: int  # what CPU offloading keeps out of the memory of the GPU
    largest: str
    largest_bytes: int

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.loose + self.buffers


@dataclass(frozen=True, slots=True)
class Held:
    """What the memory of the device is taken by."""

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    unsharded: int = 0  # gathered parameters, and the buffers in which they arrive
    unsharded_gradients: int = 0  # and the buffers from which they are reduced
    activations: int = 0
    buffers: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, each.name) for each in fields(self))


WORDS = {
    "parameters": "parameters",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "unsharded": "unsharded parameters",
    "unsharded_gradients": "unsharded gradients",
    "activations": "activations",
    "buffers": "buffers",
    "other": "other",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """The memory at one place of a step: the most since the sample before it."""

    step: int
    phase: str  # before, forward, backward or optimizer
    where: str  # the module or group
    held: Held


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """``steps``: how many ended. ``host``: what CPU offloading keeps out of the memory of the GPU."""

    samples: tuple[Sample, ...]
    peak: Sample
    steps: int
    host: int


@dataclass(frozen=True, slots=True)
class Limit:
    """What was stood in for, and what that means; with the line of the user where there is one."""

    text: str
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a rank would have written. ``whole``: bytes of its DTensors on all ranks; ``own``: of what it holds.

    ``resizable``: a job of another number of ranks can load it, and ``why`` says what decides that.
    """

    by: str
    target: str
    at: Site
    dtensors: int
    plain: int  # tensors of which each rank has its own or the same
    whole: int
    own: int
    resizable: bool
    why: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a plan takes at its fullest rank. ``gathered``, ``gradients``: the most of these that are unsharded at once.

    The buffers in which parameters arrive and from which gradients are reduced come on top, and the activations.
    """

    name: str
    means: str
    state: int
    gathered: int
    gradients: int
    sent: int  # in a step
    collectives: int

    @property
    def total(self) -> int:
        return self.state + self.gathered + self.gradients


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The job at one number of ranks, as the rank with the most sees it."""

    world_size: int
    ranks: tuple[int, ...]  # that were rehearsed
    plan: Plan | None
    memory: MemoryProfile | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    alternatives: tuple[Alternative, ...] = ()  # the plan as it is first

    @property
    def watched(self) -> MemoryProfile | None:
        """Its memory, where anything of it was seen: not of a script that stopped before its first forward."""
        return self.memory if self.memory is not None and self.memory.samples else None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    script: str
    arguments: tuple[str, ...]
    depth: str
    sizes: tuple[Rehearsed, ...]
    findings: tuple[Finding, ...] = ()
    limits: tuple[Limit, ...] = ()
