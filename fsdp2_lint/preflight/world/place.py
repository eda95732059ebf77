"""What a rehearsal cannot show, and what it does not do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...vocab.finding import Site
from ..part import Depth, Place

__all__ = ["CannotRehearse", "Depth", "Limit", "Limits", "Place", "Save", "Told"]


class CannotRehearse(Exception):
    """The script does what no rehearsal can stand in for. The message says what, in words for its author."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What was not as in the job, and what that means. ``site`` is the user's line, where there is one."""

    text: str
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """What would have been written: by ``dcp.save``, ``dcp.async_save`` or ``torch.save``, whereto, and the state."""

    by: str
    target: str
    state: Any
    site: Site


@dataclass(slots=True)
class Limits:
    """Each is said once, and none while torch works on what no script sees."""

    said: dict[Limit, None] = field(default_factory=dict)
    quiet: bool = False

    def say(self, text: str, site: Site | None = None) -> None:
        if not self.quiet:
            self.said.setdefault(Limit(text, site))


Told = Callable[[Save], None]
