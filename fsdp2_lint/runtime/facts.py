"""What this rank says of itself, for the other ranks to compare. Nothing here communicates."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..vocab.facts import Fact
from ..vocab.finding import Moment, Site
from . import adapter
from .digests import digest
from .ledger import Built, Sharding, label_of
from .session import Session
from .sites import here


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of one forward."""

    module: nn.Module
    when: Moment
    digest: str


def _ranks(session: Session, module: nn.Module) -> tuple[int, ...]:
    """The ranks that share the data-parallel mesh of a model."""
    for sharding in reversed(session.ledger.inside(module)):
        for group in sharding.groups():
            return adapter.ranks_of(group.mesh)
    return (adapter.own_rank(),)


def _dimensions(session: Session, module: nn.Module) -> tuple[str, ...]:
    for sharding in reversed(session.ledger.inside(module)):
        for group in sharding.groups():
            return tuple(getattr(group.mesh, "mesh_dim_names", None) or ())
    return ()


def plan(session: Session, root: nn.Module, *, now: bool = True) -> None:
    """Which groups there are, of which parameters, over which ranks. The order of the calls does not count."""
    if not session.compares("plan"):
        return
    paths = {id(module): path for path, module in root.named_modules()}
    values: dict[str, str] = {}
    places: dict[str, Site] = {}
    for sharding in session.ledger.inside(root):
        name = ", ".join(filter(None, (paths.get(id(module), "") for module in sharding.live_modules())))
        name = name or f"the root {label_of(root)}"
        words = [
            f"{_joined(paths.get(id(param.module), ''), param.name)} {list(param.shape)} {param.sharded.dtype} "
            f"{'/'.join(param.planned[1])} over {len(adapter.ranks_of(group.mesh))} ranks"
            for group in sharding.groups()
            for param in group.params
        ]
        if words:
            values[name] = "; ".join(words)
            places[name] = sharding.when.at
    fact = Fact("plan", label_of(root), here(), _ranks(session, root), values, places)
    session.state(fact)
    if now:
        session.agree_now(fact)


def starting_weights(session: Session, root: nn.Module, shardings: Sequence[Sharding]) -> None:
    """The weights that training starts from.

    Replicas of an HSDP mesh must hold the same shards. On a 1-D mesh the whole parameters, as they
    were before they were cut, say whether the ranks built the same model; what was written since
    then no longer tells.
    """
    if not session.compares("starting-weights"):
        return
    paths = {id(module): path for path, module in root.named_modules()}
    for sharding in shardings:
        for group in sharding.groups():
            names = {id(param.raw): _joined(paths.get(id(param.module), ""), param.name) for param in group.params}
            if group.replicated:
                values = {names[id(param.raw)]: digest(param.sharded) for param in group.params}
            else:
                values = {
                    names[id(param.raw)]: start
                    for param in group.params
                    if (start := sharding.starting.get((id(param.module), param.name)))
                    and param.current is param.sharded
                    and sharding.written.get(id(param.raw)) == adapter.version(param.sharded)
                }
            if values:
                # What groups say under one key is put together: one model gives one disagreement.
                key = label_of(root) + (f", shard {group.shard_rank}" if group.replicated else "")
                places = dict.fromkeys(values, sharding.when.at)
                traits = {"mesh": "replicas" if group.replicated else "shards", "loaded": _loaded(session, sharding)}
                ranks = adapter.ranks_of(group.mesh)
                session.state(Fact("starting-weights", key, sharding.when, ranks, values, places, traits))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _loaded(session: Session, sharding: Sharding) -> str:
    loaded = any(
        part in session.ledger.loaded for module in sharding.live_modules() for part in module.modules()
    )  # fmt: skip
    return "yes" if loaded else "no"


def outside_gradients(session: Session, top: nn.Module, built: Built) -> None:
    """Weights and gradients of parameters that a model leaves out on purpose, at an optimizer's step."""
    if not session.compares("outside-gradients"):
        return
    for sharding in session.ledger.inside(top):
        if not sharding.ignored:
            continue
        values = {
            name: f"{digest(parameter)} {digest(parameter.grad)}"
            for name, parameter in top.named_parameters()
            if id(parameter) in sharding.ignored and parameter.requires_grad and parameter.grad is not None
        }
        if values:
            ranks = _ranks(session, top)
            key = f"{label_of(top)}, step {session.step + 1}, {built.label}"
            places = dict.fromkeys(values, sharding.when.at)
            session.state(Fact("outside-gradients", key, sharding.when, ranks, values, places))


def group_gradients(session: Session, group: adapter.Group, number: int, when: Moment) -> None:
    """Which parameters of a group have a gradient, before it is reduced."""
    if not session.compares("group-gradients"):
        return
    values = {
        param.fqn: "yes" if param.has_gradient else "no" for param in group.params if param.sharded.requires_grad
    }  # fmt: skip
    key = f"{group.fqn or 'the root'}, step {session.step + 1}, backward {number}"
    sharding = session.ledger.of_group(group)
    places = {"": sharding.when.at} if sharding is not None else {}
    session.state(Fact("group-gradients", key, when, adapter.ranks_of(group.mesh), values, places))


def batches(session: Session, seen: Sequence[Batch]) -> None:
    """The inputs of all forwards that one backward followed: together they are what a rank trained on."""
    first = seen[0]
    # Ranks of a context-parallel dimension share their batches on purpose.
    if any("cp" in name for name in _dimensions(session, first.module)):
        return
    number = session.count_backward()
    values = {f"backward {number}": _short(" ".join(each.digest for each in seen))}
    session.state(Fact("batch", "inputs", first.when, _ranks(session, first.module), values))


def device(session: Session, chosen: torch.device, when: Moment) -> None:
    """The GPU on which this rank shards."""
    index = chosen.index if chosen.index is not None else torch.cuda.current_device()
    properties: Any = torch.cuda.get_device_properties(index)
    name = str(getattr(properties, "uuid", "") or f"cuda:{index}")
    world = tuple(range(int(os.environ.get("WORLD_SIZE", "1"))))
    values: Mapping[str, str] = {"device": f"{platform.node()} {name}"}
    session.state(Fact("device", "devices", when, world, values, traits={"index": f"cuda:{index}"}))


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
