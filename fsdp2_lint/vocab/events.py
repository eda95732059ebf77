"""What happens in a training program, in the order in which it happens.

The comment behind each event names the moment, and the witnesses that see it:
S static, R runtime, P preflight. Events are produced by a witness and judged by
rules; the handles in them (see :mod:`fsdp2_lint.vocab.handles`) answer questions
*as of that moment*.
"""

from __future__ import annotations

from dataclasses import dataclass

from .finding import Moment, Site
from .handles import Collection, Device, Model, Optimizer, Payload, Process, Unit
from .live import LiveModel, LiveOptimizer, LivePayload, LiveProcess, LiveUnit, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    when: Moment

    @property
    def at(self) -> Site:
        return self.when.at

    @property
    def subject(self) -> object | None:
        """The handle that this event is about: verdicts are listed under its model."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharded(Event):  # just before fully_shard replaces the parameters; S R P
    unit: Unit

    @property
    def subject(self) -> Unit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettled(Event):  # no further fully_shard is expected on this model; S R P
    model: Model

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSettled(Event):  # its first step, or the end of a program that hands it on; S R P
    optimizer: Optimizer
    model: Model

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUnitEvent(Event):
    """Something that is seen of a group in a running program only."""

    unit: LiveUnit

    @property
    def subject(self) -> LiveUnit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveModelEvent(Event):
    """Something that is seen of a model in a running program only."""

    model: LiveModel

    @property
    def subject(self) -> LiveModel:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReady(LiveUnitEvent):  # the first forward of its model begins, and nothing is gathered yet; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised(LiveModelEvent):  # the first forward of a model begins whose memory to_empty allocated; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSeen(LiveModelEvent):  # the first forward of such a model has ended, which may have filled buffers; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardBegun(LiveModelEvent):  # a forward of a root begins, and it has not gathered anything yet; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardEnded(LiveUnitEvent):  # the forward of its root has ended; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardEnded(LiveUnitEvent):  # all gradients of its root are reduced; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped(LiveModelEvent):  # just before an optimizer updates parameters of this model; R P
    optimizer: LiveOptimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSeen(LiveModelEvent):  # a model was trained for as many steps as the witness watches; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRead(Event):  # a DTensor becomes a number of Python: item(), float(), bool(); R P
    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Event):  # a method of a model is called from outside; S R P
    model: Model
    method: str

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Event):  # torch.save, safetensors: just before writing; S R P
    payload: Payload
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Event):  # model.load_state_dict; S R P
    model: Model
    payload: Payload

    @property
    def subject(self) -> Model:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLoaded(Event):  # torch.distributed.checkpoint.load: just before reading; R P
    payload: LivePayload


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched(Event):  # the default process group exists; R P
    process: LiveProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveIssued(Event):  # an operation in which every rank must take part; S
    collection: Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSelected(Event):  # torch.cuda.set_device and its kin; S R P
    device: Device


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTouched(Event):  # CUDA is used through "the current device"; S P
    device: Device


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded(Event):  # the witness stops looking; S R P
    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Event):  # a name of torch is imported by another path than the public one; S
    path: str
    public: str
    gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordPassed(Event):  # a keyword reaches fully_shard; S
    keyword: str
    unit: Unit

    @property
    def subject(self) -> Unit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIndexDiscarded(Event):  # a device context manager stands alone as a statement; S
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fsdp1ContextUsed(Event):  # a class method of FSDP1 is applied to a model; S R
    name: str
    model: Model

    @property
    def subject(self) -> Model:
        return self.model
