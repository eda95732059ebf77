"""Modules and tensors below the surface of their public methods."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

try:
    from torch.distributed.fsdp import FSDPModule as FSDPModule
except ImportError:  # torch 2.5 and older
    from torch.distributed._composable.fsdp import FSDPModule as FSDPModule  # type: ignore[attr-defined]


def unwrapped(module: nn.Module) -> nn.Module:
    """What ``torch.compile`` wrapped."""
    inner = getattr(module, "_orig_mod", None)
    return inner if isinstance(inner, nn.Module) else module


def original_class(module: nn.Module) -> type:
    """The class that the user wrote; ``fully_shard`` puts one of its own in front."""
    cls = type(module)
    if isinstance(module, FSDPModule) and len(cls.__mro__) > 2:
        return cls.__mro__[getattr(cls, "_orig_cls_mro_index", 2)]
    return cls


def own_parameters(module: nn.Module) -> dict[str, nn.Parameter | None]:
    """What is registered on the module itself, as it is registered: nothing is looked up elsewhere."""
    return module._parameters


def own_buffers(module: nn.Module) -> dict[str, torch.Tensor | None]:
    return module._buffers


def children(module: nn.Module) -> dict[str, nn.Module | None]:
    return module._modules


def non_persistent(module: nn.Module) -> set[str]:
    """The names of the module's own buffers that its state dict leaves out."""
    return module._non_persistent_buffers_set


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor, without copying and without autograd."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor.detach()


def is_everywhere(tensor: Any) -> bool:
    """Has each rank of its mesh a part of this DTensor? All ranks answer alike; where it is hard to tell, no."""
    cuts: dict[int, list[int]] = {}
    for size, placement in zip(tensor.device_mesh.shape, tensor.placements):
        if placement.is_shard():
            cuts.setdefault(placement.dim, []).append(size)
    return all(_reaches_all(tensor.shape[dimension], sizes) for dimension, sizes in cuts.items())


def _reaches_all(length: int, sizes: list[int]) -> bool:
    """Chunks are of one size, rounded up: they run out before the last rank, or not."""
    parts = math.prod(sizes)
    if length and length % parts == 0:
        return True
    return len(sizes) == 1 and length > -(-length // parts) * (parts - 1)


def memory_of(tensor: torch.Tensor) -> int | None:
    """Where the memory begins that this rank's part lies in; None where it has none."""
    own = local(tensor)
    if is_fake(own):
        return None
    try:
        return own.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError):  # of sparse tensors
        return None


def identity_of_memory(tensor: torch.Tensor) -> int:
    """The same number for all tensors that lie in one memory with this rank's part, also where they are fake."""
    return int(local(tensor).untyped_storage()._cdata)


def place_in_memory(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Where this rank's part begins, also where it is fake; None where it is empty, or has no memory of its own."""
    own = local(tensor)
    try:
        return (identity_of_memory(own), int(own.storage_offset())) if own.numel() else None
    except (RuntimeError, NotImplementedError):  # of sparse tensors
        return None


def is_fake(tensor: torch.Tensor) -> bool:
    """Has it no memory, as under FakeTensorMode?"""
    return type(tensor).__name__ == "FakeTensor"


def version(tensor: torch.Tensor) -> tuple[int, ...]:
    """How often it was written in place. A DTensor counts writes to itself; its local tensor, those past it."""
    try:
        own = tensor._version
        return (own, tensor._local_tensor._version) if isinstance(tensor, DTensor) else (own,)
    except RuntimeError:  # inference tensors keep no count
        return ()


def dtype_name(dtype: object) -> str:
    """``bfloat16``, as people write it."""
    return str(dtype).removeprefix("torch.")


_HOOKS = {"_backward_hooks": "register_hook", "_post_accumulate_grad_hooks": "register_post_accumulate_grad_hook"}


def hooks_of(tensor: torch.Tensor) -> tuple[str, ...]:
    """By which methods hooks were registered on it, and not all of them were removed."""
    return tuple(method for slot, method in _HOOKS.items() if getattr(tensor, slot, None))
