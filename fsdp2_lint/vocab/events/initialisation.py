"""Parameters and buffers get their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer, Many
from ..finding import Place
from .base import Event


class Fresh(Protocol):
    """A model whose memory ``to_empty`` allocated."""

    @property
    def label(self) -> str: ...

    def uninitialised(self) -> Answer:
        """Did ``to_empty`` allocate parameters that nothing has written since? yes: (Moment, names)."""

    def written_in_other_runs(self) -> Many[Place]:
        """Where other runs of the program write the parameters, and this one does not."""

    def unrestored_buffers(self) -> Answer:
        """The same for buffers. yes: (Moment, names)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEvent(Event):
    model: Fresh

    @property
    def subject(self) -> Fresh:
        return self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised(FreshEvent):  # the first forward of a model begins whose memory to_empty allocated; S R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSeen(FreshEvent):  # the first forward of such a model has ended, which may have filled buffers; S R P
    pass
