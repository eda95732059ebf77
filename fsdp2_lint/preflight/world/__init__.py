"""The world that a rehearsed script runs in: GPUs, ranks and files that are not there.

It is entered once per process and never left. Nothing in it opens a report or judges a rule. Only who enters it
imports torch: the process that starts rehearsals has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .place import CannotRehearse, Depth, Limit, Place, Save

if TYPE_CHECKING:
    from .entering import World

__all__ = ["CannotRehearse", "Depth", "Limit", "Place", "Save", "enter"]


def enter(place: Place, depth: Depth, shared: Path | None = None) -> World:
    """Make this process rank ``place.rank`` of a job on GPUs. There is no way back.

    ``shared`` is a folder of all ranks of one rehearsal: what a rank broadcasts as an object, later ones get.
    """
    from . import entering

    return entering.enter(place, depth, shared)
