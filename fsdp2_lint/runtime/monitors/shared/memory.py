"""What a model takes on this rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn

from ....vocab.live import Memory
from ... import adapter
from ...ledger import Ledger, Sharding

_MIB = 2**20


def memory_of(module: nn.Module, shardings: Sequence[Sharding], ledger: Ledger) -> Memory:
    """Parameters, gradients and optimizer states, in bytes; what is gathered for a moment does not count."""
    groups = [(sharding, group) for sharding in shardings for group in sharding.groups()]
    sharded = {id(param.sharded): param.sharded for _, group in groups for param in group.params}
    temporary = {id(param.gathered) for _, group in groups for param in group.params}
    ignored = {each for sharding in shardings for each in sharding.ignored}
    plain = {
        id(each): each
        for each in module.parameters()
        if id(each) not in sharded and id(each) not in temporary and not (each.requires_grad and id(each) in ignored)
    }  # experts train outside every group: each rank holds others
    parameters = [*sharded.values(), *plain.values()]
    tensors = [*parameters, *_gradients(parameters), *_states(parameters, ledger)]
    sizes = [(_gathered_bytes(group), sharding, group) for sharding, group in groups]
    largest = max(sizes, key=lambda each: each[0], default=None)
    return Memory(
        at=shardings[-1].when,
        whole=sum(each.numel() * each.element_size() for each in tensors),
        held=sum(_local_bytes(each) for each in tensors),
        shards=max((group.shards for _, group in groups), default=1),
        largest=(largest[2].fqn or largest[1].label) if largest else "",
        largest_bytes=largest[0] if largest else 0,
        gathered_bytes=sum(size for size, _, _ in sizes),
        groups=tuple(
            f"{group.fqn or sharding.label}: {_in_mib(_held_by(group))} of {_in_mib(size)}"
            for size, sharding, group in sizes
        ),
    )


def _local_bytes(tensor: torch.Tensor) -> int:
    part = adapter.local(tensor)
    return part.numel() * part.element_size()


def _gathered_bytes(group: adapter.Group) -> int:
    return sum(param.numel * param.sharded.element_size() for param in group.params)


def _held_by(group: adapter.Group) -> int:
    return sum(_local_bytes(param.sharded) for param in group.params)


def _gradients(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return [each.grad for each in parameters if each.grad is not None]


def _states(parameters: Iterable[torch.Tensor], ledger: Ledger) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for built in ledger.optimizers:
        optimizer = built.optimizer()
        for parameter in parameters if optimizer is not None else ():
            state = optimizer.state.get(parameter) if optimizer is not None else None
            found.extend(value for value in (state or {}).values() if isinstance(value, torch.Tensor) and value.ndim)
    return found


def _in_mib(count: int) -> str:
    return f"{count / _MIB:.2f} MiB"
