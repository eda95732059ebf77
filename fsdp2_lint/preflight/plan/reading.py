"""The plan of a model, read from what ``fully_shard`` left in it. It can be read before the first forward."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy

from ...runtime import adapter
from ...runtime.ledger import Ledger, dotted, label_of
from ...vocab.finding import Site
from .shape import LooseParam, MeshShape, Plan, PlannedGroup, PlannedParam

Names = Mapping[int, str]  # of modules below the root, by their identity


def plan_of(root: nn.Module, ledger: Ledger | None = None) -> Plan:
    """How this rank sees the model. A ledger knows on which lines it was sharded."""
    own = adapter.own()
    names = {id(module): name for name, module in root.named_modules()}
    states = list(adapter.states_below(root))
    roots = _roots(root, states)
    groups = tuple(
        _group(group, state, id(state) in roots, names, ledger) for state in states for group in adapter.groups(state)
    )
    loose = tuple(_loose(root, states))
    whole = [torch.Size(each.whole).numel() for group in groups for each in group.params]
    return Plan(
        rank=own.rank,
        world_size=own.world_size,
        label=label_of(root),
        numel=sum(whole) + sum(torch.Size(each.shape).numel() for each in loose),
        groups=groups,
        loose=loose,
        buffers=sum(adapter.local(each).nbytes for each in root.buffers()),
    )


def _roots(root: nn.Module, states: list[Any]) -> set[int]:
    """The states below no other one: whose forward is the first of all that run."""
    below = {
        id(part)
        for state in states
        for module in adapter.modules_of(state)
        for part in module.modules()
        if part is not module
    }
    return {id(state) for state in states if not any(id(module) in below for module in adapter.modules_of(state))}


def _group(group: adapter.Group, state: Any, is_root: bool, names: Names, ledger: Ledger | None) -> PlannedGroup:
    modules = adapter.modules_of(state)
    params = group.params
    policy = next(iter(group.precisions), None)
    computes = group.computes_in or (params[0].sharded.dtype if params else torch.float32)
    reduces = getattr(policy, "reduce_dtype", None) or computes
    return PlannedGroup(
        fqn=", ".join(names.get(id(module), "?") for module in modules),
        label=label_of(*modules),
        params=tuple(_param(each, group, names) for each in params),
        mesh=MeshShape(adapter.names_of(group.mesh), tuple(group.mesh.shape)),
        shards=group.shards,
        shard_rank=group.shard_rank,
        replicas=adapter.replicas(group),
        reshards=adapter.reshards(group, state, is_root),
        reshards_after_backward=group.reshards_after_backward,
        reduce_dtype=adapter.dtype_name(reduces),
        reduce_itemsize=reduces.itemsize,
        offloaded=isinstance(group.offloading, CPUOffloadPolicy),
        own_gather=any(map(adapter.gathers_its_own_way, params)),
        root=is_root,
        at=_line_of(modules, ledger),
    )


def _line_of(modules: tuple[nn.Module, ...], ledger: Ledger | None) -> Site | None:
    sharding = ledger.of_module(modules[0]) if ledger is not None and modules else None
    return sharding.when.at if sharding is not None else None


def _param(param: adapter.Param, group: adapter.Group, names: Names) -> PlannedParam:
    first, *others = [dotted(names.get(id(module), "?"), name) for module, name in adapter.registered(param)]
    dtype = param.sharded.dtype
    asked = group.asked_dtype if dtype.is_floating_point else None
    return PlannedParam(
        fqn=first,
        also=tuple(others),
        shape=param.shape,
        whole=tuple(param.sharded.shape),
        dtype=adapter.dtype_name(dtype),
        itemsize=dtype.itemsize,
        gathered_dtype=adapter.dtype_name(asked or dtype),
        gathered_itemsize=(asked or dtype).itemsize,
        dimension=param.dimension,
        placements=adapter.placements(param),
        trained=param.sharded.requires_grad,
        held=adapter.local(param.sharded).nbytes,
    )


def _loose(root: nn.Module, states: list[Any]) -> list[LooseParam]:
    params = [param for state in states for group in adapter.groups(state) for param in group.params]
    managed = {id(each) for param in params for each in chain([param.sharded], param.copies)}
    return [
        LooseParam(
            name, tuple(each.shape), adapter.dtype_name(each.dtype), adapter.local(each).nbytes, each.requires_grad
        )
        for name, each in root.named_parameters()
        if id(each) not in managed
    ]
