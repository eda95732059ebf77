"""What ranks hold in common, once a model has been trained for a while: replicas of shards, and buffers."""

from __future__ import annotations

from collections.abc import Container

from torch import nn

from ..vocab.facts import Fact
from . import adapter
from .agreement.digests import digest
from .ledger import Trained, dotted
from .session import Session
from .sites import here


def after_training(session: Session, model: Trained) -> None:
    """Right after a step of an optimizer: from here on nothing brings together what has come apart."""
    top = model.module()
    if top is None or not session.compares("replicas"):
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
    _buffers(session, model, top)


def _buffers(session: Session, model: Trained, top: nn.Module) -> None:
    """Buffers are never sharded. Those that a checkpoint has count: it has them of one rank."""
    ledger = session.ledger
    last = ledger.inside(top)[-1]
    ranks = next((adapter.ranks_of(group.mesh) for group in last.groups()), ())
    ignored = {each for sharding in ledger.inside(top) for each in sharding.ignored}
    values = {}
    for path, module in top.named_modules():
        sharding = ledger.by_module.get(module) or ledger.below.get(module)
        elsewhere = sharding is not None and any(adapter.ranks_of(group.mesh) != ranks for group in sharding.groups())
        if sharding is None or elsewhere or _is_left_out(module, ignored):
            continue  # experts and parts of tensors are different on other ranks, on purpose
        for name, buffer in adapter.own_buffers(module).items():
            kept = buffer is not None and name not in adapter.non_persistent(module)
            if kept and buffer is not None and not isinstance(buffer, adapter.DTensor):
                values[dotted(path, name)] = digest(buffer)
    if values:
        fact = Fact("replicas", f"buffers of {model.label}", last.when, ranks, values, traits={"what": "buffers"})
        session.state(fact)


def _is_left_out(module: nn.Module, ignored: Container[int]) -> bool:
    """Does FSDP2 ignore all of its parameters? Then nothing says that other ranks have the same module."""
    parameters = list(module.parameters())
    return bool(parameters) and all(id(each) in ignored for each in parameters)
