"""Shards that the job takes out of their DTensors, and that decide what a rank does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ....vocab.answers import Answer, yes
from ....vocab.behaviour import Behaviour
from ....vocab.events.training import ValueRead
from ....vocab.finding import Moment, Place, Site
from ... import adapter
from ...closure import looked
from ...decisions import decision
from ...session import Session
from ...sites import asking, here


@dataclass(frozen=True, slots=True)
class RuntimeDecision:
    """The placement of the tensor in words, and where its value decides."""

    placement: str
    decides: Moment

    @property
    def name(self) -> str:
        return "a condition"

    def partial(self) -> Answer[tuple[str, Site | None]]:
        return yes((self.placement, None))

    def in_some_versions(self) -> Answer[Behaviour]:
        return looked("its placement says all")

    def sharding(self) -> Answer[Place]:
        return yes(Place(self.decides, "the ranks go different ways here"))


def install(session: Session) -> None:
    session.watch((adapter.DTensor, "to_local"), before=_Watch(session).taken)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.seen: set[tuple[CodeType, int]] = set()

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame, tensor = None if adapter.is_traced() else asking(sys._getframe()), args[0]
        if frame is None or (frame.f_code, frame.f_lasti) in self.seen:
            return
        self.seen.add((frame.f_code, frame.f_lasti))
        placement = next(_cuts(tensor), None)
        place = decision(frame) if placement is not None else None
        if place is not None:
            reading = RuntimeDecision(str(placement), place)
            self.session.dispatch(ValueRead(when=here(), reading=reading))


def _cuts(tensor: Any) -> Iterator[Any]:
    """The placements by which ranks hold different parts."""
    for dimension, placement in enumerate(tensor.placements):
        if not placement.is_replicate() and tensor.device_mesh.size(dimension) > 1:
            yield placement
