"""What a checkpoint held when it was written, and what comes back of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ...vocab.answers import Answer, yes
from ...vocab.finding import Moment, Place
from ...vocab.words import listed
from .. import adapter
from ..closure import looked
from ..digests import digest

DEPTH = 6


@dataclass(frozen=True, slots=True)
class Value:
    """A fingerprint of this rank's part of an entry."""

    digest: str
    shape: tuple[int, ...] = ()
    dtype: torch.dtype | None = None


def values(state: Any, depth: int = DEPTH, path: str = "") -> Iterator[tuple[str, Value]]:
    """The tensors, numbers and strings of a state dict, under the names that DCP gives them."""
    if not depth or not isinstance(state, Mapping):
        return
    for key, item in state.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(item, torch.Tensor):
            part = adapter.local(item)
            yield name, Value(digest(item), tuple(part.shape), part.dtype)
        elif isinstance(item, (bool, int, float, str)):
            yield name, Value(repr(item))
        else:
            yield from values(item, depth - 1, name)


@dataclass(frozen=True, slots=True)
class RuntimeRoundTrip:
    saved_at: Moment
    saved: Mapping[str, Value]
    loaded: Mapping[str, Value]

    def changed(self) -> Answer[Place]:
        both = {name: (self.saved[name], value) for name, value in self.loaded.items() if name in self.saved}
        rounded = [name for name, (old, new) in both.items() if _rounded(old, new)]
        if rounded:
            old, new = both[rounded[0]]
            return yes(Place(self.saved_at, f"{listed(rounded)} (saved as {_dtype(old)}, read as {_dtype(new)})"))
        other = [name for name, (old, new) in both.items() if old.digest != new.digest and _comparable(old, new)]
        return (
            yes(Place(self.saved_at, listed(other)))
            if other
            else looked("what was saved and what came back were compared")
        )


def _comparable(old: Value, new: Value) -> bool:
    """Shards of another cut, and values that a wider type holds exactly, are no change."""
    return old.shape == new.shape and old.dtype is new.dtype


def _rounded(old: Value, new: Value) -> bool:
    if old.dtype is None or new.dtype is None or old.shape != new.shape:
        return False
    return old.dtype.is_floating_point and new.dtype.is_floating_point and new.dtype.itemsize < old.dtype.itemsize


def _dtype(value: Value) -> str:
    return str(value.dtype).removeprefix("torch.")
