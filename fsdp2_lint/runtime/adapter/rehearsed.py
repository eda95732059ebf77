"""Is this a job, or a rehearsal of one on CPUs? What the monitors see of a device is then not what it would be."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .modules import is_fake

Told = Callable[[torch.Tensor], None]


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """``mode`` makes tensors without memory, if they have none; ``device`` is where the job would shard now.

    ``hollow``: is the memory of a tensor without values as it was allocated? ``unfrozen`` takes who is to be told of
    tensors that get gradients from now on.
    """

    mode: Any
    device: Callable[[], torch.device]
    hollow: Callable[[torch.Tensor], bool]
    node: str
    unfrozen: Callable[[Told], None]


class _Now:
    rehearsed: Rehearsed | None = None


def rehearse(rehearsed: Rehearsed) -> None:
    """From now on, to the end of the process."""
    _Now.rehearsed = rehearsed


def is_rehearsed() -> bool:
    return _Now.rehearsed is not None


def device_meant(device: torch.device) -> torch.device:
    """Where a shard would lie in the job: on a GPU, where a rehearsal has it on the CPU."""
    now = _Now.rehearsed
    return device if now is None or device.type != "cpu" else now.device()


def node() -> str:
    """The name of the node of this rank."""
    return platform.node() if _Now.rehearsed is None else _Now.rehearsed.node


def is_tried_out(tensor: torch.Tensor) -> bool:
    """Is it one with which torch only works out what would come of an operation? Nothing is sent then."""
    if not is_fake(tensor):
        return False
    mode = _Now.rehearsed.mode if _Now.rehearsed is not None else None
    return mode is None or getattr(tensor, "fake_mode", None) is not mode


def is_hollow(tensor: torch.Tensor) -> bool:
    """Is it one without values, which nothing has written since it was allocated?"""
    return _Now.rehearsed is not None and is_fake(tensor) and _Now.rehearsed.hollow(tensor)


def watch_unfreezing(told: Told) -> None:
    """Call ``told`` with each tensor that got no gradients and gets them from now on. A job does not show it."""
    if _Now.rehearsed is not None:
        _Now.rehearsed.unfrozen(told)
