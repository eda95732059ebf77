"""A file of fixed size with the last collectives of this rank. Others on the node may read it while it is written."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from .halves import HALF, SIZE, Follower, State, after_all, beginning

BYTES = 2 * HALF


class Ring:
    """Writing is a store into memory: it costs no system call, and outlives the process however that ends.

    All of the file is taken from the disk at once. Later, a full disk would end the process by a signal.
    Raises OSError where there is no room, or no such file can be made.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _take(descriptor)
            self._halves = [mmap.mmap(descriptor, HALF, offset=start) for start in (0, HALF)]
        finally:
            os.close(descriptor)
        self._states: list[State] = []  # as they were where the half begins that is written to
        self._begin(1, 0)

    def turn(self) -> None:
        """Go on in the other half; what stands there is lost."""
        self._states = after_all(self._states, self._half[self._first :])
        self._begin(self._lap + 1, self.total)

    def _begin(self, lap: int, total: int) -> None:
        half = self._halves[(lap + 1) % 2]
        half[:] = bytes(HALF)  # its lap goes first: who reads it there knows that it is an older one's no more
        self._half, self._lap, self._before = half, lap, total
        start = beginning(lap, total, self._states)
        half[SIZE : len(start)] = start[SIZE:]
        half[:SIZE] = start[:SIZE]
        half.seek(len(start))
        self._first = len(start)
        # Stores a token. ValueError where the half is full: then it is time to `turn`.
        self.write = half.write

    @property
    def total(self) -> int:
        """How many collectives were written."""
        return self._before + (self._half.tell() - self._first) // SIZE


def follow(path: Path) -> Follower:
    """Read what is written there. Raises OSError or ValueError where it is not there yet, or not in its whole size."""
    with path.open("rb") as file:
        return Follower(mmap.mmap(file.fileno(), BYTES, access=mmap.ACCESS_READ))


def _take(descriptor: int) -> None:
    zeros = bytes(BYTES)
    while zeros:
        zeros = zeros[os.write(descriptor, zeros) :]
