"""The memory of the device, by what it is taken for. Storages are known weakly: counting keeps nothing alive."""

from __future__ import annotations

import weakref
from dataclasses import fields
from typing import Any

import torch

from .shape import Held

KINDS = tuple(each.name for each in fields(Held))
HOST = "host"  # what CPU offloading keeps in the memory of the host


class _Storage:
    __slots__ = ("kind", "ref", "size")

    def __init__(self, size: int, kind: str, ref: Any) -> None:
        self.size, self.kind, self.ref = size, kind, ref


class Storages:
    """``total`` is what the device holds now; ``high`` the most since :meth:`lower`, and how it was made up."""

    def __init__(self) -> None:
        self._known: dict[int, _Storage] = {}
        self.now = dict.fromkeys((*KINDS, HOST), 0)
        self.total = 0
        self.most_on_host = 0
        self.high = 0
        self._at_high = dict(self.now)

    def see(self, tensor: torch.Tensor, kind: str) -> None:
        """A tensor that is there. What is known already stays what it was taken for."""
        storage = _storage_of(tensor)
        if storage is None:
            return
        known = self._known.get(id(storage))
        if known is None:
            self._add(storage, kind)
        elif known.size != storage.nbytes():
            self._resize(known, storage.nbytes())

    def call(self, tensor: torch.Tensor, kind: str) -> None:
        """What it is taken for is known by now."""
        self.see(tensor, kind)
        storage = _storage_of(tensor)
        if storage is None:
            return
        known = self._known[id(storage)]
        size = known.size
        self._resize(known, 0)
        known.kind = kind
        self._resize(known, size)

    def kind_of(self, tensor: torch.Tensor) -> str:
        storage = _storage_of(tensor)
        known = self._known.get(id(storage)) if storage is not None else None
        return known.kind if known is not None else ""

    def resized(self, storage: torch.UntypedStorage, kind: str) -> None:
        if (known := self._known.get(id(storage))) is not None:
            if not known.size:  # what was freed may be taken for something else
                known.kind = kind
            self._resize(known, storage.nbytes())

    def lower(self) -> None:
        self.high, self._at_high = self.total, dict(self.now)

    def at_high(self) -> Held:
        return Held(**{kind: self._at_high[kind] for kind in KINDS})

    def _add(self, storage: torch.UntypedStorage, kind: str) -> None:
        key = id(storage)
        known = _Storage(0, kind, weakref.ref(storage, lambda _: self._gone(key)))
        self._known[key] = known
        self._resize(known, storage.nbytes())

    def _gone(self, key: int) -> None:
        self._resize(self._known.pop(key), 0)

    def _resize(self, known: _Storage, size: int) -> None:
        more = size - known.size
        known.size = size
        self.now[known.kind] += more
        if known.kind == HOST:
            self.most_on_host = max(self.most_on_host, self.now[HOST])
            return
        self.total += more
        if self.total >= self.high:  # also where something goes by another name now
            self.lower()


def _storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """None of what has no memory: on the meta device, or a subclass that keeps it in other tensors."""
    try:
        return None if tensor.device.type == "meta" else tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None
