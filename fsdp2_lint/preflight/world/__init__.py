"""The world that a rehearsed script runs in: GPUs, ranks and files that are not there.

It is entered once per process and never left. Nothing in it opens a report or judges a clause.
"""

from .entering import World, enter
from .place import CannotRehearse, Depth, Limit, Place, Save

__all__ = ["CannotRehearse", "Depth", "Limit", "Place", "Save", "World", "enter"]
