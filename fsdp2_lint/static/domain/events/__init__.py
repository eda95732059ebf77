"""What a trace tells: one class for each kind of event, one module for each topic of the contract.

Used as ``events.Sharded``: events of the same names, that rules judge, are in ``vocab.events``.
"""
# ruff: noqa: F401
# mypy: implicit-reexport

from .base import AsksRanks, Counted, Event, InLoops
from .checkpoints import (
    AsyncSave,
    DcpLoad,
    DcpSaved,
    FutureKept,
    KeysWritten,
    Loaded,
    OptimizerLoaded,
    Prefixed,
    SaveAwaited,
    Saved,
    StateHelper,
    StateSet,
)
from .forward import (
    Called,
    Changed,
    Circumstances,
    Evaluated,
    Modes,
    Registered,
    Reshard,
    ReshardingSwitched,
    Unshard,
    UnshardWaited,
    Use,
    WeightUsed,
)
from .initialisation import SOMEWHERE, Drawn, Emptied, LostWrite, Meta, Moved, Reset, Written
from .launch import (
    DeviceDiscarded,
    DeviceIndex,
    DeviceSet,
    DeviceStarted,
    DeviceTouch,
    Mesh,
    ProcessGroup,
    SelfStarted,
)
from .migration import (
    ApiUsed,
    ClassCompared,
    Fsdp1Asked,
    Fsdp1Context,
    Fsdp1Method,
    ModuleRead,
    UnshardDropped,
    UnshardEntered,
)
from .precision import Autocast, Cast, DefaultDtype, Scaled
from .ranks import Collective, EpochSet, Loader, LoaderRead, LoopLeft, NumberDrawn, OrderShared, Sampler, Seeded, Uneven
from .sharding import (
    Attached,
    Checkpointed,
    Compiled,
    Exchanged,
    Frozen,
    InputSplit,
    LayersSplit,
    Parallelised,
    ParamAsked,
    ParamHook,
    ParamMarked,
    Pipelined,
    Quantized,
    Sharded,
    Thawed,
    Tied,
    Wrapped,
)
from .step import AnyStep, Step
from .training import (
    Backward,
    BackwardSwitched,
    Clipped,
    Consumed,
    Copied,
    Differentiated,
    Divided,
    Finalized,
    Generator,
    GradientScaled,
    GradientsHandedOn,
    Held,
    HyperparameterGiven,
    Optimizer,
    Reduced,
    Remapped,
    StepGivenUp,
    Stepped,
    Supplanted,
    Sync,
    ValueRead,
    Zeroed,
)
from .unfollowed import Escaped, Managed, Unseen
