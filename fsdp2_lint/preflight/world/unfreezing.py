"""Tensors that get gradients from now on: what says so is an attribute, and only a mode sees it set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .devices import Handler

_SETS = torch.Tensor.requires_grad.__set__  # type: ignore[attr-defined]


class Unfreezing:
    """``told`` are called with each of them."""

    def __init__(self) -> None:
        self.told: list[Callable[[torch.Tensor], None]] = []

    def handlers(self) -> dict[Any, Handler]:
        return {torch.Tensor.requires_grad_: self._watched(torch.Tensor.requires_grad_), _SETS: self._watched(_SETS)}

    def _watched(self, change: Callable[..., Any]) -> Handler:
        # Sound: the tensor is changed as it would be.
        def changed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            was = args[0].requires_grad
            result = change(*args, **kwargs)
            if args[0].requires_grad and not was:
                for told in self.told:
                    told(args[0])
            return result

        return changed
