"""The one place that touches private names of torch.

Where something is missing, :func:`missing` says which clauses cannot be judged; everything else
still can.
"""
# ruff: noqa: F401
# mypy: implicit-reexport

from torch.distributed.tensor import DTensor

from .collectives import Issue, collectives, is_traced, issued, ranks_of_group
from .frames import call_of_fully_shard, inputs_of_forward, modules_that_are_called, only_makes_states
from .groups import (
    Group,
    Mesh,
    Param,
    forward_is_running,
    fqns,
    groups,
    hooks_have_run,
    is_root,
    modules_of,
    names_of,
    ranks_of,
    state_of,
    states_below,
    whole_of,
)
from .modules import (
    FSDPModule,
    is_fake,
    local,
    non_persistent,
    original_class,
    own_buffers,
    own_parameters,
    unwrapped,
    version,
)
from .probe import all_ranks, first_cuda_use, is_captured, missing, own_rank, place, store
