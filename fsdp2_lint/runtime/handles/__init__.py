"""The runtime witness's answers to the questions of :mod:`fsdp2_lint.vocab`, from live objects."""

from .models import RuntimeModel
from .optimizers import RuntimeOptimizer
from .payloads import RuntimePayload, RuntimeReading
from .process import RuntimeDevice, RuntimeProcess
from .units import RuntimeUnit

__all__ = [
    "RuntimeDevice",
    "RuntimeModel",
    "RuntimeOptimizer",
    "RuntimePayload",
    "RuntimeProcess",
    "RuntimeReading",
    "RuntimeUnit",
]
