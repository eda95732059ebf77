"""Collectives, in the order in which this rank issues them.

These hooks may run in any thread, also while another one of them looks at something, and none may
be left out: one that is missing on a single rank would shift all that follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import adapter
from ...session import Session


def install(session: Session) -> None:
    if not session.sequence.is_kept or not session.compares("turn"):
        return
    for owner, name, read in adapter.collectives():
        session.hot.replace(owner, name, _watched(session, getattr(owner, name), read))
    names = _Names(session)
    for method in ("full_tensor", "redistribute"):
        original = getattr(adapter.DTensor, method)
        session.hot.replace(adapter.DTensor, method, _used(session, original, names.of))
    for hook in ("gather", "reduce"):
        if place := adapter.place(hook):
            session.hot.replace(*place, _used(session, getattr(*place), adapter.fqns))


def _watched(session: Session, original: Any, read: Any) -> Any:
    sequence = session.sequence

    @functools.wraps(original)
    def issue(*args: Any, **kwargs: Any) -> Any:
        if session.hot.live and sequence.is_kept and not adapter.is_traced():
            try:
                if (found := read(args, kwargs)) is not None:
                    sequence.add(found)
            except Exception as error:
                sequence.stop()  # what follows could not be compared any more
                session.defect("collectives", error)
        return original(*args, **kwargs)

    return issue


def _used(session: Session, original: Any, names: Callable[[Any], tuple[str, ...]]) -> Any:
    """What is issued in here is for the parameters that the first argument stands for."""
    sequence = session.sequence
    asked = session.quietly(names)

    @functools.wraps(original)
    def use(*args: Any, **kwargs: Any) -> Any:
        if not session.hot.live or not args or sequence.used_for or adapter.is_traced():
            return original(*args, **kwargs)
        sequence.used_for = asked(args[0]) or ()
        try:
            return original(*args, **kwargs)
        finally:
            sequence.used_for = ()

    return use


class _Names:
    """The names of shards, by where they lie in memory: state dicts hold other tensors over the same memory."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: tuple[int, int] | None = None
        self._params: dict[int, adapter.Param] = {}

    def of(self, tensor: Any) -> tuple[str, ...]:
        ledger = self.session.ledger
        if self._known != (ledger.changes, self.session.step):
            self._known = (ledger.changes, self.session.step)
            self._params = {
                adapter.local(param.sharded).data_ptr(): param
                for sharding in ledger.shardings
                for param in sharding.params()
            }
        place = adapter.local(tensor).data_ptr()
        param = self._params.get(place) if place else None
        if param is None or adapter.local(param.sharded).data_ptr() != place or tensor.shape != param.sharded.shape:
            return ()
        return (param.fqn,)
