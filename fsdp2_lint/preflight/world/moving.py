"""``to``, ``to_empty`` and the like of a module keep and replace its parameters as they do in the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ...runtime import adapter
from ...runtime.adapter import rehearsal
from .replacing import instead

Change = Callable[[torch.Tensor], torch.Tensor]


def keep_parameters() -> None:
    instead([rehearsal.conversion()], _converting)


def _converting(original: Callable[..., Any]) -> Callable[..., Any]:
    # Sound: torch swaps tensors without memory, which keeps each object. Of those with memory it writes into
    # the object where the type of device stays, and makes a new one where it does not.
    def convert(self: nn.Module, fn: Change, recurse: bool = True) -> Any:
        for child in self.children() if recurse else ():
            rehearsal.convert(child, fn)
        held = adapter.own_parameters(self)
        order = list(held)
        converted = {name: _converted(each, fn) for name, each in held.items() if each is not None and _is_plain(each)}
        for name in converted:
            del held[name]
        result = original(self, fn, recurse=False)
        rest = dict(held)
        held.clear()
        held.update((name, converted[name] if name in converted else rest[name]) for name in order)
        return result

    return convert


def _is_plain(parameter: nn.Parameter) -> bool:
    return rehearsal.has_no_values(parameter)


def _converted(parameter: nn.Parameter, fn: Change) -> nn.Parameter:
    with torch.no_grad():
        changed = fn(parameter)
        gradient = fn(parameter.grad) if parameter.grad is not None else None
    if changed is parameter:
        return parameter
    if changed.device.type != parameter.device.type:
        parameter = nn.Parameter(changed, requires_grad=parameter.requires_grad)
    else:
        parameter.data = changed
    if gradient is not None and gradient is not parameter.grad:
        parameter.grad = None  # one of another dtype is refused in the place of the old one
        parameter.grad = gradient
    return parameter
