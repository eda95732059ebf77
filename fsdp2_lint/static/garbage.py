"""Python's garbage collector, paced by programs instead of allocations.

Syntax trees live to the end of a run, and what a program made is garbage as a whole when the
next one begins. Looking through all of it every so many allocations costs a quarter of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_WORTH = 10_000  # steps of the interpreter that leave enough behind


@contextmanager
def by_hand() -> Iterator[None]:
    """No automatic collection inside; afterwards all is as it was."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


class Garbage:
    """What programs leave behind; ``steps`` is how far all of them ran."""

    def __init__(self) -> None:
        self._collected_at = 0

    def collect(self, steps: int) -> None:
        """Between two programs: what is still in use now stays to the end, and is not looked at again."""
        if steps - self._collected_at > _WORTH:
            self._collected_at = steps
            gc.collect()
            gc.freeze()
