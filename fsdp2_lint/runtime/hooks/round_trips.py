"""Checkpoints that a job writes and reads again: fingerprints of this rank's part, then and once it is back."""

from __future__ import annotations

import threading
from typing import Any

from ...vocab.events.checkpoints import CheckpointReturned
from ...vocab.finding import Moment
from .. import adapter
from ..handles import RuntimeRoundTrip
from ..handles.round_trips import Value, values
from ..session import Session
from ..sites import here

KEPT = 8  # checkpoints: fingerprints of the last ones


def install(session: Session) -> None:
    watch = _Watch(session)
    if place := adapter.place("saving"):
        session.rare.watch(place, before=session.quietly(watch.saving))
    if place := adapter.place("loading"):
        session.rare.watch(place, after=session.quietly(watch.loaded))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.saved: dict[str, tuple[Moment, dict[str, Value]]] = {}

    def saving(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state, where = _given(args, kwargs, "storage_writer")
        if not where:
            return
        self.saved.pop(where, None)
        if threading.current_thread() is threading.main_thread():  # what is saved in the background is a copy already
            self.saved[where] = here(), dict(values(state))
        while len(self.saved) > KEPT:
            del self.saved[next(iter(self.saved))]

    def loaded(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state, where = _given(args, kwargs, "storage_reader")
        if where in self.saved:
            when, saved = self.saved[where]
            trip = RuntimeRoundTrip(when, saved, dict(values(state)))
            self.session.hear(CheckpointReturned(when=here(), trip=trip))


def _given(args: tuple[Any, ...], kwargs: dict[str, Any], storage: str) -> tuple[Any, str]:
    """The state dict, and where it is kept."""
    state = args[0] if args else kwargs.get("state_dict")
    place = args[1] if len(args) > 1 else kwargs.get(storage)
    return state, str(getattr(place, "checkpoint_id", None) or getattr(place, "path", None) or "")
