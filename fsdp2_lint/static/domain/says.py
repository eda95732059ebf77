"""Who says a number, where the code that was followed does not."""

from __future__ import annotations

from enum import IntEnum


class Says(IntEnum):
    """Of several parts the one that says most decides: a number that a setting scales is the setting's."""

    SOURCE = 0  # the code that was followed, in a way that is not calculated
    UNREAD = 1  # a file, or another package, that was not read: it is the same in each run
    OUTSIDE = 2  # who starts the program, or a caller who was not seen: it may be any number
