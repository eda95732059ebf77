"""Python's garbage collector, paced by programs instead of allocations.

Syntax trees live to the end of a run, and what a program made is garbage as a whole when the
next one begins. Looking through all of it every so many allocations costs a quarter of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from ..collector import paused

_WORTH = 10_000  # steps of the interpreter that leave enough behind


@contextmanager
def by_hand() -> Iterator[None]:
    """No automatic collection inside; afterwards all is as it was."""
    with paused():
        try:
            yield
        finally:
            gc.unfreeze()


class Garbage:
    """What the programs of a run leave behind."""

    # Since the last collection, in all runs: Python takes what they froze for old, and hardly ever looks at it again.
    _steps: ClassVar[int] = 0

    def __init__(self) -> None:
        self._begun = False

    def made(self, steps: int) -> None:
        """By a program that took so many steps."""
        Garbage._steps += steps

    def collect(self) -> None:
        """Between two programs: what is still in use now stays to the end, and is not looked at again."""
        if not sweep() and self._begun:
            return
        self._begun = True
        gc.freeze()


def sweep() -> bool:
    """Collect what programs have left behind, here or in earlier runs, if that is enough; was it?"""
    if Garbage._steps <= _WORTH:
        return False
    Garbage._steps = 0
    gc.collect()
    return True
