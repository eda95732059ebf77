"""The static witness's answers: every question of a rule is answered from the trace."""

from .async_saves import StaticAsyncSave
from .load_targets import StaticLoadTarget
from .models import StaticModel
from .optimizers import StaticOptimizer
from .payloads import StaticKeys, StaticPayload
from .process import StaticCollection, StaticDevice, StaticProcess
from .program import Program
from .state_helpers import StaticHelper
from .units import StaticUnit

__all__ = [
    "Program",
    "StaticAsyncSave",
    "StaticCollection",
    "StaticDevice",
    "StaticHelper",
    "StaticKeys",
    "StaticLoadTarget",
    "StaticModel",
    "StaticOptimizer",
    "StaticPayload",
    "StaticProcess",
    "StaticUnit",
]
