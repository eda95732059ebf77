"""The lines of many files that have long stretches in common: these are compared as they are, and not taken apart.

What follows a line in one file mostly follows it in others, too. So a file is read beside one that was read before it,
from a line that both have to the first one that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

FINDING = b'{"record":"finding",'
"""How a line begins that does not mean the same in each file: there a rank does not name itself."""

_MOST = 16  # files that are held in memory: one for each kind of rank, such as a stage of a pipeline


class Stretches:
    """Gives the lines of one file after the other numbers."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._behind: dict[int, tuple[_Kept, int]] = {}  # by the number of a line: what followed it where it came first

    def numbers(self, data: bytes, number: Callable[[bytes], int]) -> list[int]:
        """``number`` of each line of a file. It is asked for those alone that are in no stretch."""
        found: list[int] = []
        at = known = 0
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            found += map(number, data[at:end].splitlines())  # a damaged one may have other ends, too
            at = end
            if found[-1] in self._behind:
                kept, start = self._behind[found[-1]]
                stop = kept.alike(start, data, at)
                found += kept.numbers[start:stop]
                at, known = at + kept.starts[stop] - kept.starts[start], known + stop - start
        if 2 * known < len(found) and len(self._kept) < _MOST:
            self._keep(_Kept(data, found))
        return found

    def _keep(self, file: _Kept) -> None:
        self._kept.append(file)
        for index, number in enumerate(file.numbers, 1):
            self._behind.setdefault(number, (file, index))


class _Kept:
    """A file to read others beside. ``starts`` are the places of its lines, and its end."""

    def __init__(self, data: bytes, numbers: Sequence[int]) -> None:
        lines = data.splitlines(keepends=True)
        self.numbers = numbers
        self.starts = [0, *accumulate(map(len, lines))]
        self._data = data
        self._until = [len(lines)] * (len(lines) + 1)  # the first line from each on that is never compared
        for index in reversed(range(len(lines))):
            compared = lines[index].endswith(b"\n") and not lines[index].startswith(FINDING)
            self._until[index] = self._until[index + 1] if compared else index

    def alike(self, start: int, data: bytes, at: int) -> int:
        """The line here up to which ``data`` has from ``at`` on what is here from the line ``start`` on."""
        stop, width = start, 1
        while self._has(start, stop, stop + width, data, at):
            stop, width = stop + width, 2 * width
        while width := width // 2:
            if self._has(start, stop, stop + width, data, at):
                stop += width
        return stop

    def _has(self, start: int, low: int, high: int, data: bytes, at: int) -> bool:
        if high > self._until[start]:
            return False
        place = self.starts[low]
        return data.startswith(self._data[place : self.starts[high]], at + place - self.starts[start])
