"""Gradients that are clipped by their norm."""

from __future__ import annotations

import math
from typing import Any

from ...vocab.events.steps import GradientsClipped
from .. import adapter
from ..handles import RuntimeClip
from ..session import Session
from ..sites import here


def install(session: Session) -> None:
    if place := adapter.place("clipping"):
        session.hot.watch(place, before=session.quietly(lambda args, kwargs: _clip(session, *args, **kwargs)))


def _clip(session: Session, parameters: Any, max_norm: float, *rest: Any, **further: Any) -> None:
    """By now torch has made a list of the parameters; an iterator of somebody else's is left alone."""
    if not isinstance(parameters, list) or math.isinf(max_norm):
        return
    managed = session.ledger.managed(session.ledger.shardings)
    sharding = next((managed[id(each)][0] for each in parameters if id(each) in managed), None)
    if sharding is not None:
        clipped = frozenset(map(id, parameters))
        session.hear(GradientsClipped(when=here(), model=RuntimeClip(session.ledger, sharding, clipped)))
