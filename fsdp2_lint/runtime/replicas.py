"""What ranks hold in common, once a model has been trained for a while: replicas of shards, and buffers."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import torch
from torch import nn

from ..vocab.facts import AT_FIRST, Fact, in_words
from ..vocab.finding import Site
from . import adapter
from .agreement.digests import digest
from .ledger import Sharding, Trained, dotted
from .session import Session
from .sites import here


def after_training(session: Session, model: Trained) -> None:
    """Right after a step of an optimizer: from here on nothing brings together what has come apart."""
    top = model.module()
    if top is None or not session.compares("replicas") or adapter.is_captured():
        return
    paths = {id(module): path for path, module in top.named_modules()}
    stepped = here()
    for sharding in session.ledger.inside(top):
        for group in sharding.groups():
            if not group.replicated:
                continue
            values = {
                dotted(paths.get(id(param.module), ""), param.name): digest(param.sharded)
                for param in group.params
                if param.sharded.requires_grad
            }
            key = f"weights of {model.label}, shard {group.shard_rank}"
            places = dict.fromkeys(values, sharding.when.at)
            ranks = adapter.ranks_of(group.mesh)
            session.state(Fact("replicas", key, stepped, ranks, values, places, {"what": "weights"}))
    _copies(session, model, top)
    _buffers(session, model, top)


def before_training(session: Session, shardings: Sequence[Sharding]) -> None:
    """What ranks along a tensor-parallel dimension hold in common, before it can come apart."""
    if session.compares("replicas") and not adapter.is_captured():
        for sharding, param, _ in _beside(session, shardings):
            sharding.begun[id(param.raw)] = _outline(param.sharded)


def _copies(session: Session, model: Trained, top: nn.Module) -> None:
    """Norms, routers and what else a tensor-parallel plan leaves out, or replicates: one copy on each of its ranks."""
    paths = {id(module): path for path, module in top.named_modules()}
    found: dict[tuple[int, ...], tuple[dict[str, str], dict[str, Site]]] = {}
    for sharding, param, ranks in _beside(session, session.ledger.inside(top)):
        if (start := sharding.begun.get(id(param.raw))) is None:
            continue
        name = dotted(paths.get(id(param.module), ""), param.name)
        values, places = found.setdefault(ranks, ({}, {}))
        values |= {name: _outline(param.sharded), name + AT_FIRST: start}
        places[name] = sharding.when.at
    for ranks, (values, places) in found.items():
        key = f"copies of {model.label} on {in_words(ranks)}"
        session.state(Fact("replicas", key, here(), ranks, values, places, {"what": "copies"}))


def _outline(tensor: torch.Tensor) -> str:
    """Sums of the parts of a shard: ranks that compute a gradient each for itself may differ in its last bits."""
    parts = adapter.local(tensor).flatten().chunk(8)
    return " ".join(f"{float(part.sum(dtype=torch.float64)):.12e}" for part in parts)


def _beside(
    session: Session, shardings: Sequence[Sharding]
) -> Iterator[tuple[Sharding, adapter.Param, tuple[int, ...]]]:
    """Trained parameters with the ranks that have the same part of them along other dimensions than those of FSDP2.

    Where ranks send each other tokens, a plain parameter may be an expert of which each rank has its own.
    """
    groups = [(sharding, group) for sharding in shardings for group in sharding.groups()]
    dimensions = adapter.dimensions_beside(group for _, group in groups)
    for sharding, group in groups if dimensions else ():
        for param in group.params:
            plain = not adapter.is_distributed_beside(group, param)
            if param.sharded.requires_grad and not (plain and session.ledger.sends_tokens):
                if ranks := adapter.copies_beside(group, param, dimensions):
                    yield sharding, param, ranks


def _buffers(session: Session, model: Trained, top: nn.Module) -> None:
    """Buffers are never sharded. Those that a checkpoint has count: it has them of one rank."""
    ledger = session.ledger
    last = ledger.inside(top)[-1]
    # A root may have no parameters of its own, and then no group.
    groups = (group for sharding in reversed(ledger.inside(top)) for group in sharding.groups())
    ranks = next((adapter.ranks_of(group.mesh) for group in groups), ())
    ignored = {each for sharding in ledger.inside(top) for each in sharding.ignored}
    values, routing = {}, {}
    for path, module in top.named_modules():
        sharding = ledger.by_module.get(module) or ledger.below.get(module)
        elsewhere = sharding is not None and any(adapter.ranks_of(group.mesh) != ranks for group in sharding.groups())
        if sharding is None or elsewhere or _is_left_out(module, ignored):
            continue  # experts and parts of tensors are different on other ranks, on purpose
        for name, buffer in adapter.own_buffers(module).items():
            kept = buffer is not None and name not in adapter.non_persistent(module)
            if kept and buffer is not None and not isinstance(buffer, adapter.DTensor):
                values[dotted(path, name)] = digest(buffer)
                if (id(module), name) in ledger.routing:
                    routing[dotted(path, name)] = "routing"
    if values:
        fact = Fact(
            "replicas", f"buffers of {model.label}", last.when, ranks, values, traits={"what": "buffers", **routing}
        )
        session.state(fact)


def _is_left_out(module: nn.Module, ignored: Container[int]) -> bool:
    """Does FSDP2 ignore all of its parameters? Then nothing says that other ranks have the same module."""
    parameters = list(module.parameters())
    return bool(parameters) and all(id(each) in ignored for each in parameters)
