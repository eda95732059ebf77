"""Gradients that are clipped by their norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ....vocab.answers import Answer, yes
from ....vocab.events.steps import GradientsClipped
from ....vocab.finding import Place
from ...closure import looked
from ...session import Session
from ...sites import here
from ..shared.units import OfSharding


@dataclass(frozen=True, slots=True)
class RuntimeClip(OfSharding):
    clipped: frozenset[int]  # parameters, by identity

    @property
    def label(self) -> str:
        return self.model_key.label

    def used_before(self) -> Answer[Place]:
        holders = [
            built
            for built in self.ledger.optimizers
            if any(id(parameter) in self.clipped for parameter in built.held())
        ]
        steps = [built.stepped for built in holders if built.stepped is not None]
        if not steps or len(steps) < len(holders):
            return looked("no step used these gradients before")
        return yes(Place(steps[-1], f"this step uses the gradients of {self.label}"))


def install(session: Session) -> None:
    session.watch_fsdp2("clipping", before=lambda args, kwargs: _clip(session, *args, **kwargs))


def _clip(session: Session, parameters: Any, max_norm: float, *rest: Any, **further: Any) -> None:
    """By now torch has made a list of the parameters; an iterator of somebody else's is left alone."""
    if not isinstance(parameters, list) or math.isinf(max_norm):
        return
    managed = session.ledger.managed(session.ledger.shardings)
    sharding = next((managed[id(each)][0] for each in parameters if id(each) in managed), None)
    if sharding is not None:
        clipped = frozenset(map(id, parameters))
        session.dispatch(GradientsClipped(when=here(), model=RuntimeClip(session.ledger, sharding, clipped)))
