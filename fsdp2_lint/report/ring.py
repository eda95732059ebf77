"""A file of fixed size with the last records of this rank. Others on the node may read it while it is written."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from .sequences import RECORD, SLOTS

_SIZE = RECORD.size
BYTES = SLOTS * _SIZE
_pack = RECORD.pack_into


class Ring:
    """Writing is a store into memory: it costs no system call, and outlives the process however that ends.

    All of the file is taken from the disk at once. Later, a full disk would end the process by a signal.
    Raises OSError where there is no room, or no such file can be made.
    """

    __slots__ = ("_memory", "total")

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _take(descriptor)
            self._memory = mmap.mmap(descriptor, BYTES)
        finally:
            os.close(descriptor)
        self.total = 0

    def write(self, group: int, number: int, kind: int, place: int, rolling: int) -> None:
        """Its number comes last in the record: a reader that finds it finds the rest."""
        written = self.total
        self.total = total = written + 1
        _pack(self._memory, written % SLOTS * _SIZE, group, number, kind, place, rolling, total)


def _take(descriptor: int) -> None:
    zeros = bytes(BYTES)
    while zeros:
        zeros = zeros[os.write(descriptor, zeros) :]
