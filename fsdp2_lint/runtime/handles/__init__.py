"""The runtime witness's answers to the questions of :mod:`fsdp2_lint.vocab`, from live objects."""

from .async_saves import RuntimeAsyncSave
from .clipping import RuntimeClip
from .fsdp1_methods import RuntimeAsked
from .models import RuntimeModel
from .optimizers import RuntimeOptimizer
from .payloads import RuntimeKeys, RuntimePayload, RuntimeReading
from .process import RuntimeDevice, RuntimeProcess
from .round_trips import RuntimeRoundTrip
from .state_helpers import RuntimeHelper
from .units import RuntimeUnit

__all__ = [
    "RuntimeAsked",
    "RuntimeClip",
    "RuntimeAsyncSave",
    "RuntimeDevice",
    "RuntimeHelper",
    "RuntimeKeys",
    "RuntimeModel",
    "RuntimeOptimizer",
    "RuntimePayload",
    "RuntimeProcess",
    "RuntimeReading",
    "RuntimeRoundTrip",
    "RuntimeUnit",
]
