"""The one place that touches private names of torch.

Where something is missing, :func:`missing` says which rules cannot be judged; everything else
still can.
"""
# ruff: noqa: F401
# mypy: implicit-reexport

from torch.distributed.tensor import DTensor

from .allocations import STORAGE, Allocations, backward_is_running, exchanging_objects, gathering, propagating
from .collectives import (
    Issue,
    Issuer,
    calls_compiled,
    collectives,
    exchanges,
    is_followed,
    is_traced,
    issued,
    messages,
    ranks_of_group,
    size_of,
)
from .copies import copies_beside, dimensions_beside, is_distributed_beside, ranks_of_replica
from .frames import (
    Stage,
    call_of_fully_shard,
    clips_by_their_own_norm,
    inputs_of_forward,
    issued_by_the_job,
    modules_that_are_called,
    only_makes_states,
    only_wraps,
    stage_that_runs,
)
from .group_state import (
    Division,
    backward_is_open,
    before_backward,
    division,
    gathers_its_own_way,
    holds_gradients,
    in_forward,
    placements,
    reduces_over_replicas,
    reduction_is_awaited,
    registered,
    replicas,
    reshards,
)
from .groups import (
    Group,
    Param,
    forward_is_running,
    fqns,
    groups,
    hooks_have_run,
    is_root,
    modules_of,
    state_of,
    states_below,
)
from .membership import all_ranks, claimed, group_made, is_member, membership, own, own_rank
from .meshes import Mesh, names_of, ranks_along, ranks_of, whole_of
from .modules import (
    FSDPModule,
    children,
    dtype_name,
    hooks_of,
    identity_of_memory,
    is_everywhere,
    is_fake,
    local,
    memory_of,
    non_persistent,
    original_class,
    own_buffers,
    own_parameters,
    place_in_memory,
    unwrapped,
    version,
)
from .operations import Marks, Operation, Operations
from .places import Missing
from .probe import first_cuda_use, is_captured, lacking, missing, place, rehearsal_token, rehearse, store
from .rehearsed import device_meant, is_hollow, is_rehearsed, node, watch_unfreezing
