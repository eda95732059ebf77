"""What another plan for the same model would take and send, in closed form. Activations are the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from . import sizes
from .shape import Alternative, MeshShape, Plan, PlannedGroup, PlannedParam

AS_IT_IS = "as it is"


def alternatives(plan: Plan, per_node: int) -> tuple[Alternative, ...]:
    """The plan itself first, then each other one that differs from it. ``per_node``: how many GPUs a node has."""
    found = [measured(AS_IT_IS, "", plan)]
    for name, means, groups in _others(plan, per_node):
        other = measured(name, means, replace(plan, groups=tuple(groups)))
        if all(replace(other, name=each.name, means=each.means) != each for each in found):
            found.append(other)
    return tuple(found)


def measured(name: str, means: str, plan: Plan) -> Alternative:
    """As the first rank sees it, which has the most."""
    kept = sum(map(sizes.kept_after_forward, plan.groups))
    come_and_go = [sizes.gathered(each) - sizes.kept_after_forward(each) for each in plan.groups]
    issued = sizes.traffic(plan)
    return Alternative(
        name=name,
        means=means,
        state=sizes.state(plan, shard_rank=0).total,
        gathered=kept + max(come_and_go, default=0),
        gradients=max(map(_gradients, plan.groups), default=0),
        sent=sum(each.sent for each in issued),
        collectives=sum(each.count for each in issued),
    )


def _gradients(group: PlannedGroup) -> int:
    """All of them are there before the first is reduced."""
    return sum(each.numel * each.gathered_itemsize for each in group.params if each.trained)


def _others(plan: Plan, per_node: int) -> Iterator[tuple[str, str, Iterable[PlannedGroup]]]:
    yield "root only", "one group: nothing is freed until the step is over", _merged(plan.groups)
    blocks = list(chain.from_iterable(map(_by_block, _merged(plan.groups))))
    yield "per block", "a group for each block, and the root for the rest", blocks
    yield "no reshard", "reshard_after_forward=False", [replace(each, reshards=False) for each in plan.groups]
    groups = [_replicated(each, per_node) for each in plan.groups]
    yield "HSDP", f"sharded over the {per_node} GPUs of a node, replicated over the nodes", groups


def _merged(groups: Iterable[PlannedGroup]) -> list[PlannedGroup]:
    """One group for all that lies on one mesh: experts may have one of their own."""
    meshes: dict[object, list[PlannedGroup]] = {}
    for group in groups:
        meshes.setdefault((group.mesh, group.shard_rank, group.offloaded, group.reduce_dtype), []).append(group)
    return [_of_all(own) for own in meshes.values()]


def _of_all(groups: list[PlannedGroup]) -> PlannedGroup:
    first = next((each for each in groups if each.root), groups[0])
    params = tuple(param for group in groups for param in group.params)
    return replace(first, fqn="", params=params, root=True, reshards=False, at=None)


def _by_block(whole: PlannedGroup) -> Iterator[PlannedGroup]:
    blocks: dict[str, list[PlannedParam]] = {}
    for param in whole.params:
        blocks.setdefault(_block_of(param.fqn), []).append(param)
    for name, params in blocks.items():
        yield replace(whole, fqn=name, params=tuple(params), root=not name, reshards=bool(name))


def _block_of(fqn: str) -> str:
    """Up to the first number, by which lists call what they hold; empty where there is none."""
    parts = fqn.split(".")[:-1]
    numbers = [at for at, part in enumerate(parts) if part.isdecimal()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ""


def _replicated(group: PlannedGroup, per_node: int) -> PlannedGroup:
    """As it is where it is replicated already, or where a node holds all of its ranks, or no whole part of them."""
    if group.replicas > 1 or per_node < 2 or group.shards <= per_node or group.shards % per_node:
        return group
    shape = MeshShape(("replicate", "shard"), (group.shards // per_node, per_node))
    reshards = group.reshards
    if not isinstance(reshards, bool) and reshards >= per_node:
        reshards = True
    whole = replace(group, mesh=shape, replicas=group.shards // per_node, reshards=reshards)
    return sizes.resharded(whole, per_node)
