"""What a model takes on this rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    # Experts have meshes of their own: each value is cut over the ranks of its own group.
    widest = max((group.shards for _, group in groups), default=1)
    shards = {id(param.sharded): group.shards for _, group in groups for param in group.params}
    parts = [
        (each, shards.get(id(parameter), widest))
        for parameter in (*sharded.values(), *plain.values())
        for each in (parameter, *_gradient(parameter), *_states(parameter, ledger))
    ]
    sizes = [(_gathered_bytes(group), sharding, group) for sharding, group in groups]
    largest = max(sizes, key=lambda each: each[0], default=None)
    return Memory(
        at=shardings[-1].when,
        whole=sum(_bytes(each) for each, _ in parts),
        held=sum(_bytes(adapter.local(each)) for each, _ in parts),
        share=sum(_bytes(each) / ranks for each, ranks in parts),
        largest=(largest[2].fqn or largest[1].label) if largest else "",
        largest_bytes=largest[0] if largest else 0,
        gathered_bytes=sum(size for size, _, _ in sizes),
        groups=tuple(
            f"{group.fqn or sharding.label}: {_in_mib(_held_by(group))} of {_in_mib(size)}"
            for size, sharding, group in sizes
        ),
    )


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _gathered_bytes(group: adapter.Group) -> int:
    """In the dtype in which its parameters are gathered."""
    asked = group.asked_dtype
    return sum(param.numel * (asked or param.sharded.dtype).itemsize for param in group.params)


def _held_by(group: adapter.Group) -> int:
    return sum(_bytes(adapter.local(param.sharded)) for param in group.params)


def _gradient(parameter: torch.Tensor) -> Iterator[torch.Tensor]:
    if parameter.grad is not None:
        yield parameter.grad


def _states(parameter: torch.Tensor, ledger: Ledger) -> Iterator[torch.Tensor]:
    for built in ledger.optimizers:
        optimizer = built.optimizer()
        state = optimizer.state.get(parameter) if optimizer is not None else None
        yield from (value for value in (state or {}).values() if isinstance(value, torch.Tensor) and value.ndim)


def _in_mib(count: int) -> str:
    return f"{count / _MIB:.2f} MiB"
