"""The one place that touches private names of torch.

Where something is missing, :func:`missing` says which clauses cannot be judged; everything else
still can.
"""

from torch.distributed.tensor import DTensor

from .frames import call_of_fully_shard, inputs_of_forward, modules_that_are_called
from .groups import (
    Group,
    Param,
    forward_is_running,
    groups,
    hooks_have_run,
    is_root,
    modules_of,
    ranks_of,
    state_of,
    states_below,
)
from .modules import FSDPModule, local, original_class, own_buffers, own_parameters, unwrapped, version
from .probe import first_cuda_use, launched_rank, missing, place, store

__all__ = [
    "DTensor",
    "FSDPModule",
    "Group",
    "Param",
    "call_of_fully_shard",
    "first_cuda_use",
    "forward_is_running",
    "groups",
    "hooks_have_run",
    "inputs_of_forward",
    "is_root",
    "launched_rank",
    "local",
    "missing",
    "modules_of",
    "modules_that_are_called",
    "original_class",
    "own_buffers",
    "own_parameters",
    "place",
    "ranks_of",
    "state_of",
    "states_below",
    "store",
    "unwrapped",
    "version",
]
