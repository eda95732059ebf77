"""What a plan takes and sends, in closed form: at any number of ranks, and without a loop over them.

``fully_shard`` cuts a parameter along one dimension into chunks of equal length, rounded up, until it runs out
(``torch.chunk``): the last ranks may get less than the others, or nothing. In memory each rank has room for a whole
chunk, since all-gather and reduce-scatter need equal parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from .shape import Collective, MeshShape, Plan, PlannedGroup, PlannedParam, State

ADAM = 2  # states of one size with the parameter that Adam and AdamW keep


def chunk(length: int, shards: int) -> int:
    return -(-length // shards)


def rows(length: int, shards: int, rank: int) -> int:
    """What the rank at this place of ``shards`` gets of so many rows."""
    size = chunk(length, shards)
    return min(size, max(0, length - rank * size))


def local_shape(param: PlannedParam, shards: int, rank: int) -> tuple[int, ...]:
    own = rows(param.shape[param.dimension], shards, rank)
    return (*param.shape[: param.dimension], own, *param.shape[param.dimension + 1 :])


def held(param: PlannedParam, shards: int, rank: int) -> int:
    return prod(local_shape(param, shards, rank)) * param.itemsize


def room(param: PlannedParam, shards: int) -> int:
    """Numbers for which each rank has memory: those of a whole chunk."""
    return prod(local_shape(param, shards, 0))


def without_any(param: PlannedParam, shards: int) -> int:
    """How many ranks hold nothing of it."""
    size = chunk(param.shape[param.dimension], shards)
    return shards - chunk(param.shape[param.dimension], size) if size else shards


def is_uneven(param: PlannedParam, shards: int) -> bool:
    return param.shape[param.dimension] % shards != 0


def gathered(group: PlannedGroup) -> int:
    """Its parameters while they are gathered, as they are in memory."""
    return sum(room(each, group.shards) * group.shards * each.gathered_itemsize for each in group.params)


def kept_after_forward(group: PlannedGroup) -> int:
    """What of it stays from its forward to its backward beside the shards."""
    if group.reshards is True:
        return 0
    return gathered(group) // int(group.reshards or 1)


def reduced(group: PlannedGroup) -> int:
    """Its gradients before they are reduced, in the dtype in which that is done."""
    numbers = sum(room(each, group.shards) * group.shards for each in group.params if each.trained)
    return numbers * group.reduce_itemsize


def traffic(plan: Plan) -> tuple[Collective, ...]:
    """The collectives of one training step in which each group runs once, forward and backward.

    What a rank sends is that of the ring algorithm: (n - 1) / n of the tensor for an all-gather or a reduce-scatter
    over n ranks, and twice that for an all-reduce.
    """
    return tuple(each for group in plan.groups for each in _of_group(group))


def _of_group(group: PlannedGroup) -> Iterator[Collective]:
    whole, gradients = gathered(group), reduced(group)
    in_backward = 1 if group.reshards is True else 0
    yield from _some(group, "all_gather", group.shards, 1 + in_backward, whole)
    if group.reshards not in (True, False):
        yield from _some(group, "all_gather", int(group.reshards), 1, whole)
    yield from _some(group, "reduce_scatter", group.shards, 1, gradients)
    yield from _some(group, "all_reduce", group.replicas, 1, gradients // group.shards)


def _some(group: PlannedGroup, kind: str, ranks: int, count: int, size: int) -> Iterator[Collective]:
    if ranks > 1 and size:
        times = 2 if kind == "all_reduce" else 1
        yield Collective(group.fqn, kind, ranks, count, size, count * times * (size * (ranks - 1) // ranks))


def state(plan: Plan, *, states: int = ADAM, shard_rank: int | None = None) -> State:
    """What a rank holds from step to step, with an optimizer that keeps so many ``states`` for each number.

    By default it is the rank that the plan was read on; ``shard_rank`` 0 has the most, the last one has the least.
    """
    device = [_state_of(group, states, shard_rank) for group in plan.groups if not group.offloaded]
    host = [_state_of(group, states, shard_rank) for group in plan.groups if group.offloaded]
    largest = max(plan.groups, key=gathered, default=None)
    return State(
        parameters=sum(each[0] for each in device),
        gradients=sum(each[1] for each in device),
        optimizer=sum(each[2] for each in device),
        loose=sum(each.bytes * (2 + states if each.trained else 1) for each in plan.loose),
        buffers=plan.buffers,
        host=sum(map(sum, host)),
        largest=largest.name if largest else "",
        largest_bytes=gathered(largest) if largest else 0,
    )


def _state_of(group: PlannedGroup, states: int, shard_rank: int | None) -> tuple[int, int, int]:
    """Of parameters and gradients all that is reserved for them, of states what they have."""
    rank = group.shard_rank if shard_rank is None else min(shard_rank, group.shards - 1)
    reserved = [(each, room(each, group.shards) * each.itemsize) for each in group.params]
    trained = [each for each in group.params if each.trained]
    return (
        sum(size for _, size in reserved),
        sum(size for each, size in reserved if each.trained),
        states * sum(held(each, group.shards, rank) for each in trained),
    )


def resized(plan: Plan, world_size: int) -> Plan | None:
    """The same plan at another number of ranks: all meshes grow along the dimension that shards, if they have one.

    None where a mesh would have no whole number of ranks then. It is the first rank's.
    """
    groups = [_resized(group, world_size, plan.world_size) for group in plan.groups]
    found = tuple(group for group in groups if group is not None)
    if len(found) != len(groups):
        return None
    return replace(plan, rank=0, world_size=world_size, groups=found)


def _resized(group: PlannedGroup, new: int, old: int) -> PlannedGroup | None:
    replicates = group.shards == 1 and group.replicas > 1
    ranks, left = divmod((group.replicas if replicates else group.shards) * new, old)
    if left or not ranks:
        return None
    others = group.mesh.sizes[1:] if replicates else group.mesh.sizes[:-1]  # the last dimension is the one that shards
    mesh = MeshShape(group.mesh.names, (ranks, *others) if replicates else (*others, ranks))
    if replicates:
        return replace(group, mesh=mesh, replicas=ranks)
    reshards = group.reshards if isinstance(group.reshards, bool) or group.reshards < ranks else True
    return resharded(replace(group, mesh=mesh, reshards=reshards), ranks)


def resharded(group: PlannedGroup, shards: int) -> PlannedGroup:
    """The same group over another number of ranks, as the first of them sees it."""
    params = tuple(replace(each, held=held(each, shards, 0)) for each in group.params)
    return replace(group, shards=shards, shard_rank=0, params=params)
