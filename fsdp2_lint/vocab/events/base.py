"""What every event has: its moment, and what it is about."""

from __future__ import annotations

from typing import ClassVar

from ..declared import Declared
from ..finding import Moment, Site
from ..live import LiveModel, LiveUnit
from ..objects import Model


class Event(Declared):
    about: ClassVar[str] = ""  # the field that has the object that this event is about; empty: it is about none
    when: Moment

    @property
    def at(self) -> Site:
        return self.when.at

    @property
    def subject(self) -> object | None:
        """The object that this event is about: verdicts are listed under its model."""
        return getattr(self, self.about) if self.about else None


class ModelEvent(Event):
    """Something that happens to a model."""

    about = "model"
    model: Model


class LiveUnitEvent(Event):
    """Something that is seen of a group in a running program only."""

    about = "unit"
    unit: LiveUnit


class LiveModelEvent(Event):
    """Something that is seen of a model in a running program only."""

    about = "model"
    model: LiveModel
