"""What this rank says of itself, for the other ranks to compare. Nothing here communicates."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..vocab.facts import Fact, in_words
from ..vocab.finding import Moment, Site
from . import adapter
from .agreement.digests import digest, sample
from .ledger import Built, Sharding, dotted, label_of
from .session import Session
from .sites import here


@dataclass(frozen=True, slots=True)
class Batch:
    """The inputs of one forward."""

    ranks: tuple[int, ...]
    when: Moment
    digest: str


def _mesh(session: Session, module: nn.Module) -> Any | None:
    """The data-parallel mesh of a model: that of its last group, which is the root's."""
    shardings = reversed(session.ledger.inside(module))
    return next((group.mesh for sharding in shardings for group in sharding.groups()), None)


def _ranks(session: Session, module: nn.Module) -> tuple[int, ...]:
    mesh = _mesh(session, module)
    return (adapter.own_rank(),) if mesh is None else adapter.ranks_of(mesh)


def plan(session: Session, root: nn.Module, *, now: bool = True) -> None:
    """Which groups there are, of which parameters, over which ranks. The order of the calls does not count."""
    if not session.compares("plan"):
        return
    paths = {id(module): path for path, module in root.named_modules()}
    plans: dict[tuple[int, ...], tuple[dict[str, str], dict[str, Site]]] = {}
    for sharding in session.ledger.inside(root):
        name = ", ".join(filter(None, (paths.get(id(module), "") for module in sharding.live_modules())))
        name = name or f"the root {label_of(root)}"
        for group in sharding.groups():
            # Experts have meshes of their own, and other groups on each of them.
            ranks = adapter.ranks_of(group.mesh)
            values, places = plans.setdefault(ranks, ({}, {}))
            words = (
                f"{dotted(paths.get(id(param.module), ''), param.name)} {list(param.shape)} {param.sharded.dtype} "
                f"{'/'.join(param.planned[1])} over {len(ranks)} ranks"
                for param in group.params
            )
            values[name] = "; ".join(words)
            places[name] = sharding.when.at
    for ranks, (values, places) in plans.items():
        fact = Fact("plan", label_of(root), here(), ranks, values, places)
        (session.agree_now if now else session.state)(fact)


def starting_weights(session: Session, root: nn.Module, shardings: Sequence[Sharding]) -> None:
    """The weights that training starts from.

    Replicas of an HSDP mesh must hold the same shards. On a 1-D mesh the whole parameters, as they
    were before they were cut, say whether the ranks built the same model; what was written since
    then no longer tells.
    """
    if not session.compares("starting-weights"):
        return
    paths = {id(module): path for path, module in root.named_modules()}
    widest = _ranks(session, root)
    for sharding in shardings:
        for group in sharding.groups():
            ranks = adapter.ranks_of(group.mesh)
            # Experts have meshes of their own: only ranks of one mesh put a parameter together.
            suffix = "" if ranks == widest else f" over {in_words(ranks)}"
            names = {
                id(param.raw): dotted(paths.get(id(param.module), ""), param.name) + suffix for param in group.params
            }
            if group.replicated:
                values = {names[id(param.raw)]: sample(param.sharded) for param in group.params}
            else:
                values = {
                    names[id(param.raw)]: start
                    for param in group.params
                    if (start := sharding.starting.get((id(param.module), param.name)))
                    and param.current is param.sharded
                    and sharding.written.get(id(param.raw)) == (adapter.version(param.sharded), sample(param.sharded))
                }
            if values:
                # What groups say under one key is put together: one model gives one disagreement.
                key = label_of(root) + (f", shard {group.shard_rank}" if group.replicated else "")
                places = dict.fromkeys(values, sharding.when.at)
                traits = {"mesh": "replicas" if group.replicated else "shards", "loaded": _loaded(session, sharding)}
                session.state(Fact("starting-weights", key, sharding.when, ranks, values, places, traits))


def _loaded(session: Session, sharding: Sharding) -> str:
    loaded = any(
        part in session.ledger.loaded for module in sharding.live_modules() for part in module.modules()
    )  # fmt: skip
    return "yes" if loaded else "no"


def outside_gradients(session: Session, top: nn.Module, built: Built) -> None:
    """Weights and gradients of parameters that a model leaves out on purpose, at an optimizer's step.

    Where ranks send each other tokens, what is left out may be experts of which each rank has its own.
    """
    if not session.compares("outside-gradients") or session.ledger.sends_tokens or adapter.is_captured():
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


# Ranks along these dimensions of a mesh share their batches on purpose.
_SHARING = ("cp", "sp", "context", "seq", "ulysses", "ring")


def ranks_with_batches_of_their_own(session: Session, module: nn.Module) -> tuple[int, ...]:
    """The ranks of a model's mesh; none where some of them share batches."""
    dimensions = getattr(_mesh(session, module), "mesh_dim_names", None) or ()
    return () if any(word in name for name in dimensions for word in _SHARING) else _ranks(session, module)


def batch(session: Session, module: nn.Module, when: Moment, inputs: object) -> Batch | None:
    """The inputs of a forward, or None where they cannot be compared. Without a tensor the digest is empty."""
    ranks = ranks_with_batches_of_their_own(session, module)
    if not ranks:
        return None
    try:
        words = list(_words(inputs))
    except (TypeError, RuntimeError, NotImplementedError):  # of nested or sparse tensors, for example
        return None
    if None in words:
        return None
    told = [word for word in words if word is not None]
    has_tensor = any(word.startswith("tensor") for word in told)
    return Batch(ranks, when, short(" ".join(told)) if has_tensor else "")


def _words(value: object) -> Iterator[str | None]:
    """Every tensor, string and number in nested containers; None for what cannot be looked into."""
    if isinstance(value, torch.Tensor):
        yield f"tensor {digest(value)}"
    elif value is None or isinstance(value, (str, bytes, int, float, complex)):
        yield repr(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _words(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _words(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from _words(getattr(value, name))
    else:
        yield None


def batches(session: Session, seen: Sequence[Batch]) -> None:
    """The inputs of all forwards that one backward followed: together they are what a rank trained on."""
    first = seen[0]
    values = {f"backward {session.count_backward()}": short(" ".join(each.digest for each in seen))}
    session.state(Fact("batch", "inputs", first.when, first.ranks, values))


def device(session: Session, chosen: torch.device, when: Moment) -> None:
    """The GPU on which this rank shards."""
    index = chosen.index if chosen.index is not None else torch.cuda.current_device()
    properties: Any = torch.cuda.get_device_properties(index)
    name = str(getattr(properties, "uuid", "") or f"cuda:{index}")
    world = everyone(adapter.all_ranks())
    values: Mapping[str, str] = {"device": f"{adapter.node()} {name}"}
    session.state(Fact("device", "devices", when, world, values, traits={"index": f"cuda:{index}"}))


@functools.cache
def everyone(world_size: int) -> tuple[int, ...]:
    return tuple(range(world_size))


def short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
