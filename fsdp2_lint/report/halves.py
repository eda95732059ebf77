"""The file in which a rank writes down its collectives: two halves, which are filled in turns.

A collective takes sixteen bytes that are the same each time it comes again from the same place. So the rank
has them ready, and all that it does is to store them. Its position in its group, and the number for all that
was issued in the group up to it, follow from the order: each half begins with what they were when it began.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

# Its group, what it is, where it came from, and a digest of what all ranks must have in common. None is ever zero.
TOKEN = struct.Struct("<IIII")
SIZE = TOKEN.size
SLOTS = 4096  # of one half
HALF = SLOTS * SIZE
UNTOLD = 2**32 - 2  # what was issued is not told: after too many sizes
MOST_GROUPS = SLOTS // 4
_BEGIN = struct.Struct("<QII")  # how many were issued before, the lap from 1, and how many groups follow
_LAP = struct.Struct("<I")
_LAP_AT = 8
_DIGEST = struct.Struct("<I")
_STATE = struct.Struct("<Qq")  # of a group: how many were issued in it, and one number for all of these


class State(NamedTuple):
    """``rolling`` is one number for all that was issued in a group so far: equal on two ranks, they issued the same."""

    issued: int = 0
    rolling: int = 0

    def after(self, digest: int) -> State:
        return State(self.issued + 1, zlib.crc32(_DIGEST.pack(digest), self.rolling))

    def after_all(self, digests: Sequence[int]) -> State:
        """The same of one after the other: a checksum goes on where it was, so that thousands take one call."""
        packed = struct.pack(f"<{len(digests)}I", *digests)
        return State(self.issued + len(digests), zlib.crc32(packed, self.rolling))


class Bytes(Protocol):
    """The file, in memory or as it was read."""

    def __getitem__(self, key: slice, /) -> bytes: ...

    def __len__(self) -> int: ...


class Half(NamedTuple):
    """One half as it began; ``at`` is where its first collective stands in the file, ``end`` where the half ends."""

    lap: int
    total: int
    states: tuple[State, ...]
    at: int
    end: int


def token(group: int, kind: int, place: int, digest: int) -> bytes:
    return TOKEN.pack(group + 1, kind + 1, place + 1, digest % 2**32 or 1)


def beginning(lap: int, total: int, states: Sequence[State]) -> bytes:
    """What stands before the first collective of a half."""
    return _BEGIN.pack(total, lap, len(states)) + b"".join([_STATE.pack(*each) for each in states])


def lap_of(file: Bytes, number: int) -> int:
    at = number * HALF + _LAP_AT
    return int(_LAP.unpack(file[at : at + _LAP.size])[0])


def halves(file: Bytes) -> list[Half]:
    """Those that were begun, the older first."""
    found = []
    for start in range(0, len(file) - SIZE + 1, HALF):
        total, lap, groups = _BEGIN.unpack(file[start : start + SIZE])
        at, end = start + (1 + groups) * SIZE, min(start + HALF, len(file) // SIZE * SIZE)
        if lap and groups <= MOST_GROUPS and at <= end:
            states = tuple([State(*each) for each in _STATE.iter_unpack(file[start + SIZE : at])])
            found.append(Half(lap, total, states, at, end))
    return sorted(found)


def written(part: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The collectives of a part of a half, up to where nothing was written yet: group, kind, place and digest."""
    for group, kind, place, digest in TOKEN.iter_unpack(part):
        if not (group and kind and place and digest) or group > MOST_GROUPS:
            return  # or not all of it, if it is read while it is written
        yield group - 1, kind - 1, place - 1, digest


def after_all(states: Sequence[State], part: bytes) -> list[State]:
    """How far each group has come after a part in which each collective is written in whole.

    The thread that trains asks, each time a half is full: what can be done for all is not done for each collective.
    """
    issued: defaultdict[int, list[int]] = defaultdict(list)
    for group, _, _, digest in TOKEN.iter_unpack(part):
        issued[group - 1].append(digest)
    after = [*states, *[State()] * (max(issued, default=-1) + 1 - len(states))]
    for number, digests in issued.items():
        after[number] = after[number].after_all(digests)
    return after


class Follower:
    """Reads such a file while it is written: each collective once, as far as it is there by then."""

    def __init__(self, file: Bytes) -> None:
        self._file = file
        self._half: Half | None = None
        self._at = 0
        self.states: list[State] = []

    def new(self, most: int) -> list[tuple[int, int, int]]:
        """Of each, its group, its position there, and the number for all up to it. At most so many at once.

        The writer may have come round meanwhile: then it goes on with the oldest that is left.
        """
        if self._half is None or self._at == self._half.end:
            self._go_on()
        part = b""
        while (half := self._half) is not None:
            part = self._file[self._at : min(self._at + most * SIZE, half.end)]
            if lap_of(self._file, half.at // HALF) == half.lap:
                break
            if not self._go_on():
                return []
        found = []
        for group, _, _, digest in written(part):
            self._at += SIZE
            while len(self.states) <= group:
                self.states.append(State())
            before = self.states[group]
            self.states[group] = before.after(digest)
            found.append((group, before.issued, self.states[group].rolling))
        return found

    def _go_on(self) -> bool:
        """With the oldest half that is newer than the one before."""
        lap = self._half.lap if self._half is not None else 0
        for half in halves(self._file):
            if half.lap > lap:
                self._half, self._at, self.states = half, half.at, list(half.states)
                return True
        return False
