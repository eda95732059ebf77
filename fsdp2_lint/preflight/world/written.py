"""Which memory still is as it was allocated: tensors without values cannot be asked, so what writes them is noted."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from ...runtime.adapter import rehearsal


class MetaModel:
    """Memory that ``torch.empty`` and the like allocated, and that nothing has written since."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def has(self, tensor: torch.Tensor) -> bool:
        return id(tensor.untyped_storage()) in self._known

    def after(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An operation was done. What is copied from such memory is no better than it."""
        written = rehearsal.written_by(func, args, kwargs)
        if func is torch.ops.aten.copy_.default and rehearsal.has_no_values(args[1]) and self.has(args[1]):
            self._add(args[0])
            return
        for tensor in written:
            self.fill(tensor)
        if rehearsal.only_allocates(func) and rehearsal.has_no_values(result):
            self._add(result)

    def fill(self, tensor: torch.Tensor) -> None:
        if rehearsal.has_no_values(tensor):
            self._known.pop(id(tensor.untyped_storage()), None)

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = id(storage)
        self._known[key] = weakref.ref(storage, lambda _: self._known.pop(key, None))
