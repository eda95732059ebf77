"""Checkpoints that a job writes and reads again: fingerprints of this rank's part, then and once it is back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ....vocab.answers import Answer, yes
from ....vocab.events.checkpoints import CheckpointReturned
from ....vocab.finding import Moment, Place, listed
from ... import adapter
from ...agreement.digests import digest
from ...closure import looked
from ...patches import argument
from ...session import Session
from ...sites import here, users_next

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
        if rounded := [name for name, (old, new) in both.items() if _rounded(old, new)]:
            saved, read = (adapter.dtype_name(each.dtype) for each in both[rounded[0]])
            return yes(Place(self.saved_at, f"{listed(rounded)} (saved as {saved}, read as {read})"))
        other = [name for name, (old, new) in both.items() if old.digest != new.digest and _comparable(old, new)]
        if not other:
            return looked("what was saved and what came back were compared")
        return yes(Place(self.saved_at, listed(other)))


def _comparable(old: Value, new: Value) -> bool:
    """Shards of another cut, and values that a wider type holds exactly, are no change."""
    return old.shape == new.shape and old.dtype is new.dtype


def _rounded(old: Value, new: Value) -> bool:
    if old.dtype is None or new.dtype is None or old.shape != new.shape:
        return False
    return old.dtype.is_floating_point and new.dtype.is_floating_point and new.dtype.itemsize < old.dtype.itemsize


KEPT = 8  # checkpoints: fingerprints of the last ones


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("saving", rare=True, before=watch.saving)
    session.watch_fsdp2("loading", rare=True, after=watch.loaded)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.saved: dict[str, tuple[Moment, dict[str, Value]]] = {}

    def saving(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state, where = _given(args, kwargs, "storage_writer")
        if not where:
            return
        self.saved.pop(where, None)
        if users_next(sys._getframe())[0] is not None:  # what torch saves in the background is a copy already
            self.saved[where] = here(), dict(values(state))
        while len(self.saved) > KEPT:
            del self.saved[next(iter(self.saved))]

    def loaded(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state, where = _given(args, kwargs, "storage_reader")
        if where in self.saved:
            when, saved = self.saved[where]
            trip = RuntimeRoundTrip(when, saved, dict(values(state)))
            self.session.dispatch(CheckpointReturned(when=here(), trip=trip))


def _given(args: tuple[Any, ...], kwargs: dict[str, Any], storage: str) -> tuple[Any, str]:
    """The state dict, and where it is kept."""
    state = argument(args, kwargs, 0, "state_dict")
    place = argument(args, kwargs, 1, storage)
    return state, str(getattr(place, "checkpoint_id", None) or getattr(place, "path", None) or "")
