"""Parameters and buffers get their values."""

from __future__ import annotations

from dataclasses import dataclass

from .base import LiveModelEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialised(LiveModelEvent):  # the first forward of a model begins whose memory to_empty allocated; R P
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSeen(LiveModelEvent):  # the first forward of such a model has ended, which may have filled buffers; R P
    pass
