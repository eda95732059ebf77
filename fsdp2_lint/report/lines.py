"""What the ranks wrote, line by line. Ranks that agree write the same lines: each different one is read once.

A job may have thousands of ranks, and most of what one says all say. So the rest of the report works with numbers of
lines, and with the ranks that have them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..files.reading import REPORT_BYTES, read
from ..vocab.facts import Fact
from ..vocab.finding import Finding
from .codec import fact_from_json, finding_from_json, is_short
from .rank_file import record_in
from .sound import UNSOUND, is_sound
from .statements import Voice
from .stretches import FINDING, Stretches

_HOLD: Mapping[Any, Callable[[Mapping[str, Any]], Fact | Finding]] = {
    "fact": fact_from_json,
    "finding": finding_from_json,
}
_FREQUENT = ("fact", "finding", "verdict", "group", "collective", "place")
_OF_COLLECTIVES = ("group", "collective", "place", "closed", "cut")


@dataclass(frozen=True, slots=True)
class Line:
    """One record, and the fact or finding that it holds. A finding that only its own rank saw names no ranks."""

    record: Mapping[str, Any]
    holds: Fact | Finding | None = None

    @property
    def kind(self) -> Any:
        return self.record["record"]


class Lines:
    """All different lines, by number. :attr:`of` has the numbers of each file's usable lines, in their order."""

    def __init__(self) -> None:
        self.of: dict[Path, tuple[int, ...]] = {}
        self._read: list[Line | None] = []  # None: it is damaged
        self._numbers = _Numbers(self._read)
        self._stretches = Stretches()

    def add(self, path: Path) -> bool:
        """Read a file: whether nothing in it was damaged, but for a last line that was cut off. OSError."""
        numbers, data = self._numbers, read(path, REPORT_BYTES)
        own = b'"ranks":"%d"' % _rank(data)

        def number(line: bytes) -> int:
            return numbers[line.replace(own, b'"ranks":""', 1) if line.startswith(FINDING) else line]

        # Of numbers alone a tuple is nothing that Python's garbage collector has to go through.
        found = tuple(self._stretches.numbers(data, number))
        if numbers.damaged.isdisjoint(found):
            self.of[path] = found
            return True
        self.of[path] = tuple(number for number in found if number not in numbers.damaged)
        return numbers.cut_off.issuperset(numbers.damaged.intersection(found))

    def start(self, path: Path) -> Mapping[str, Any] | None:
        """The first record of a file, if that is what it ought to be."""
        first = self[self.of[path][0]].record if self.of[path] else {}
        return first if first.get("record") == "start" and "world_size" in first else None

    def __getitem__(self, number: int) -> Line:
        line = self._read[number]
        assert line is not None, "damaged lines are left out"
        return line

    def rare(self, path: Path) -> list[Mapping[str, Any]]:
        """The records of a file but for those of the kinds that there are many of."""
        return [self[number].record for number in self.of[path] if number not in self._numbers.frequent]

    def of_collectives(self, path: Path) -> tuple[int, ...]:
        """The numbers of the lines that say what a rank issued, of those that ranks may have in common."""
        return tuple([number for number in self.of[path] if number in self._numbers.of_collectives])


def _rank(data: bytes) -> int:
    """The rank that the process of a file says to be: that of its last process group, or what it was started as."""
    at = max(data.rfind(b'{"record":"joined"'), 0)
    record = record_in(data[at : data.find(b"\n", at)]) or {}
    rank = record.get("rank")
    return rank if isinstance(rank, int) else -1


class _Numbers(dict[bytes, int]):
    """The number of each line. A line that is no record was cut off, or is none of ours."""

    def __init__(self, read: list[Line | None]) -> None:
        super().__init__()
        self._read = read
        self.damaged: set[int] = set()
        self.cut_off: set[int] = set()
        self.frequent: set[int] = set()
        self.of_collectives: set[int] = set()

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self._read)
        record = record_in(text)
        line = _line(record) if record is not None else None
        self._read.append(line)
        if record is None:
            self.cut_off.add(number)
        if line is None:
            self.damaged.add(number)
        else:
            (self.frequent if line.kind in _FREQUENT else set()).add(number)
            (self.of_collectives if line.kind in _OF_COLLECTIVES else set()).add(number)
        return number


def _line(record: Mapping[str, Any]) -> Line | None:
    try:
        holds = _HOLD[record["record"]](record) if record["record"] in _HOLD else None
    except UNSOUND:
        return None
    return Line(record, holds) if is_sound(record) else None


def written_by(files: Iterable[tuple[int, Iterable[int]]]) -> dict[int, tuple[int, ...]]:
    """For each line the ranks that wrote it, of the ranks and the lines that each of them wrote."""
    ranks: dict[int, list[int]] = defaultdict(list)
    for rank, lines in files:
        for number in lines:
            ranks[number].append(rank)
    return {number: tuple(dict.fromkeys(each)) for number, each in ranks.items()}


def in_full(stated: Sequence[tuple[tuple[int, ...], Line]]) -> tuple[list[Voice], list[Voice]]:
    """The facts of these ranks, and those of which there is a digest only: what it stands for was in another report."""
    texts = {line.record.get("digest"): line.holds for _, line in stated if not is_short(line.record)}
    found: list[Voice] = []
    lost: list[Voice] = []
    for ranks, line in stated:
        fact, known = line.holds, texts.get(line.record.get("digest"))
        if not isinstance(fact, Fact):
            continue
        if not is_short(line.record):
            found.append((ranks, fact))
        elif isinstance(known, Fact):
            found.append((ranks, replace(fact, values=known.values, places=known.places)))
        else:
            lost.append((ranks, fact))
    return found, lost
