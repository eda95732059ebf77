"""Whether the ranks of this machine issue the same collectives, while the job runs.

Each rank keeps one number for all that it has issued in a group so far. Where two ranks have
different numbers at one position, they have parted there or before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..vocab.facts import Fact
from .execution_order import turns
from .halves import Follower
from .ring import follow
from .sequences import Sequence, ring_of, sequences
from .sound import is_sound

_MOST = 1024  # records of one rank that are read in one look: the others get their turn
_SLOTS = 4096  # positions of a group that are remembered: no rank may be further ahead of the others
_BEFORE = 256  # records of one rank that tell where it parted from the others
_TOLD = tuple(f'{{"record":"{kind}",'.encode() for kind in ("start", "joined", "group", "collective", "place", "cut"))


class Group(NamedTuple):
    """A process group. ``token`` tells its job's ranks from those of an earlier attempt, which has such groups too."""

    token: str
    name: str
    ranks: tuple[int, ...]


class Tail:
    """What one process adds to its files, read while it writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rank = -1  # until its process group says which it is
        self.records: list[dict[str, Any]] = []
        self._token = ""
        self._read = 0
        self._ring: Follower | None = None
        self._groups: dict[int, Group] = {}
        self._waiting: list[tuple[int, int, int]] = []  # for their group to be told

    def advance(self) -> Iterator[tuple[Group, int, int]]:
        """Each collective since the last look: its group, its position there, and the number for all up to it."""
        if (ring := self._opened()) is None:
            return
        found = self._waiting or ring.new(_MOST)
        if any(group not in self._groups for group, _, _ in found):
            self.catch_up()  # a group is told before anything is issued in it
        self._waiting = found if any(group not in self._groups for group, _, _ in found) else []
        for group, number, rolling in found if self._token and not self._waiting else ():
            yield self._groups[group], number, rolling

    def issues_in(self, group: Group) -> bool:
        return group in self._groups.values()

    def _opened(self) -> Follower | None:
        if self._ring is None:
            try:
                self._ring = follow(ring_of(self.path))
            except (OSError, ValueError):
                return None
        return self._ring

    def catch_up(self) -> None:
        """Read what its report says by now of what stands in the ring."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        whole = lines.rfind(b"\n") + 1
        self._read += whole
        for line in lines[:whole].splitlines():
            if line.startswith(_TOLD) and is_sound(record := json.loads(line)):
                self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        if record["record"] == "joined":
            self.rank, self._token = record["rank"], record["token"]
        elif record["record"] == "group":
            self._groups[record["id"]] = Group(self._token, record["name"], tuple(record["ranks"]))


class Agreement:
    """Compares the reports of processes that run. A group that has parted is told once."""

    def __init__(self) -> None:
        self._tails: dict[Path, Tail] = {}
        self._seen: dict[Group, list[tuple[int, int]]] = {}
        self._parted: set[Group] = set()

    def meet(self, paths: Iterable[Path]) -> None:
        """Take in processes that have begun since, by their reports."""
        for path in paths:
            self._tails.setdefault(path, Tail(path))

    def look(self) -> list[tuple[int, Fact]]:
        """Where groups have parted since the last look: what each rank does there, as the job's report has it."""
        parted: dict[Group, int] = {}
        for tail in self._tails.values():
            for group, number, rolling in tail.advance():
                if group not in self._parted and not self._agrees(group, number, rolling):
                    parted.setdefault(group, number)
        self._parted.update(parted)
        return [fact for group, number in parted.items() for fact in self._facts(group, number)]

    def _agrees(self, group: Group, number: int, rolling: int) -> bool:
        slots = self._seen.get(group)
        if slots is None:
            slots = self._seen[group] = [(-1, 0)] * _SLOTS
        known, other = slots[number % _SLOTS]
        if known == number:
            return other == rolling
        if known < number:
            slots[number % _SLOTS] = (number, rolling)
        return True

    def _facts(self, group: Group, number: int) -> list[tuple[int, Fact]]:
        """They parted at this position, or before. Mostly that is a moment ago, and few records have to be read."""
        members = [tail for tail in self._tails.values() if tail.issues_in(group)]
        for newest in (_BEFORE, 0):
            issued = [each for tail in members for each in self._issued(tail, group, newest)]
            if len(issued) == len(members) and all(min(each.issued) < number for each in issued):
                break
        return turns(issued)

    def _issued(self, tail: Tail, group: Group, newest: int) -> list[Sequence]:
        tail.catch_up()
        said = sequences(tail.rank, tail.path, tail.records, newest)
        return [each for each in said if (each.group, each.ranks) == group[1:]]
