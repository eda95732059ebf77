"""What every event has: its moment, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from ..finding import Moment, Site
from ..live import LiveModel, LiveUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    when: Moment

    @property
    def at(self) -> Site:
        return self.when.at

    @property
    def subject(self) -> object | None:
        """The handle that this event is about: verdicts are listed under its model."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUnitEvent(Event):
    """Something that is seen of a group in a running program only."""

    unit: LiveUnit

    @property
    def subject(self) -> LiveUnit:
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveModelEvent(Event):
    """Something that is seen of a model in a running program only."""

    model: LiveModel

    @property
    def subject(self) -> LiveModel:
        return self.model
