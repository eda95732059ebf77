"""Which files of a folder are of one run of the job, and which rank each process was.

A process claims a rank before it has a process group; the group then says which it is, and gives all
its ranks one token. So ranks with one token belong together, whatever their environment said. Who
never was in a group is put beside those that claim to be of the same launch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .rank_file import VERSION

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Process:
    """One file: ``start`` is its first record, ``written`` when the file was last written, in seconds of the epoch."""

    path: Path
    records: Sequence[Record]
    start: Record
    written: float

    @cached_property
    def groups(self) -> list[Record]:
        return [record for record in self.records if record["record"] == "joined"]

    @property
    def token(self) -> str:
        """What the first process group of this process calls itself; empty without one."""
        return str(self.groups[0]["token"]) if self.groups else ""

    @property
    def rank(self) -> int:
        return int((self.groups[-1] if self.groups else self.start)["rank"])

    @property
    def world_size(self) -> int:
        return int((self.groups[-1] if self.groups else self.start)["world_size"])

    @property
    def attempt(self) -> int:
        return int(self.start.get("attempt", 0))

    @property
    def launch(self) -> str:
        """The process that the launcher started: this one, or one that started this one."""
        return str(self.start.get("launch", ""))

    @property
    def agent(self) -> str:
        """The launcher's own process on this machine, which starts the ranks of it again after a failure."""
        return str(self.start.get("agent", ""))

    @property
    def began(self) -> float:
        return float(self.start.get("time", self.written))

    @cached_property
    def last(self) -> float:
        """When it was last heard of."""
        ends = [record.get("time") for record in self.records if record["record"] == "end"]
        return float(ends[-1]) if ends and ends[-1] is not None else self.written

    def meets(self, other: Process) -> bool:
        """Were both alive at one time?"""
        return self.began <= other.last and other.began <= self.last

    @property
    def is_of_this_version(self) -> bool:
        return self.start.get("version") == VERSION


@dataclass(slots=True)
class Generation:
    """Processes that ran together. ``token`` is that of their process group, if they had one."""

    token: str
    members: list[Process] = field(default_factory=list)
    launches: Counter[str] = field(default_factory=Counter)
    agents: dict[object, str] = field(default_factory=dict)  # by machine
    _claims: dict[int, Process] = field(default_factory=dict)

    def add(self, process: Process) -> None:
        self.members.append(process)
        self.launches[process.launch] += 1
        self.agents.setdefault(process.start.get("host"), process.agent)
        self._claims.setdefault(process.rank, process)

    @property
    def began(self) -> float:
        """When the last of them did. Some may be of an earlier run that nothing tells apart from this one."""
        return max(each.began for each in self.members)

    @property
    def attempt(self) -> int:
        return self.members[0].attempt

    @property
    def world_size(self) -> int:
        joined = [each.world_size for each in self.members if each.groups]
        return max(joined or [each.world_size for each in self.members])

    def ranks(self) -> dict[int, Process]:
        """Who is which rank: of two that claim one, the later. A rank of the group is never given to another."""
        size = self.world_size
        told: dict[int, Process] = {}
        for each in sorted(self.members, key=lambda each: (bool(each.groups), each.began)):
            # Who started the ranks need not be one, whatever an outer launcher had told it.
            if each.groups or not self.token or each.world_size == size:
                told[each.rank] = each
        return told

    def doubled(self) -> list[tuple[int, Process]]:
        """Processes that claim a rank which another one is, and that did not start it."""
        held = self.ranks()
        return [
            (each.rank, each)
            for each in self.members
            if each.rank in held and held[each.rank] is not each and not self._knows(each)
        ]

    def _knows(self, process: Process) -> bool:
        """Is it of the launch of another one, as a process that starts ranks is?"""
        return bool(process.launch) and self.launches[process.launch] > 1

    def has(self, process: Process) -> bool:
        """Does a process without a group belong here?"""
        if self.token:
            return process.launch in self.starters or self._meets(process)
        if process.attempt != self.attempt:
            return False
        if (holder := self._claims.get(process.rank)) is not None:
            return holder.meets(process)  # else it is of an earlier run, or of an earlier stretch of this one
        known = self.agents.get(process.start.get("host"), process.agent)
        return process.world_size == self.members[0].world_size and known == process.agent

    @property
    def starters(self) -> set[str]:
        """The processes that a launcher started."""
        return set(self.launches) - {""}

    def _meets(self, process: Process) -> bool:
        return process.attempt == self.attempt and any(process.meets(each) for each in self.members)


def generations(found: Iterable[Process]) -> list[Generation]:
    """The processes of a folder by what ran together, the oldest first."""
    grouped: dict[tuple[str, int], Generation] = {}
    alone: list[Process] = []
    turns: Counter[tuple[str, int]] = Counter()
    for each in sorted(found, key=lambda process: process.began, reverse=True):
        if each.token:
            # A launcher that keeps its store gives the ranks that it starts again the token that they had.
            turn = turns[each.token, each.rank]
            turns[each.token, each.rank] += 1
            grouped.setdefault((each.token, turn), Generation(each.token)).add(each)
        else:
            alone.append(each)
    told = sorted(grouped.values(), key=lambda one: one.began, reverse=True)
    for each in alone:
        home = next((one for one in told if one.has(each)), None)
        if home is None:
            told.append(home := Generation(""))
        home.add(each)
    return sorted(told, key=lambda one: one.began)


@dataclass(slots=True)
class Run:
    """What a report is of. ``parts`` are the attempts of an elastic job, or what one launch did in turn, oldest first.

    ``rivals`` claim to be the ranks of the newest part at the same time; ``earlier`` counts processes of other runs.
    """

    parts: list[Generation]
    rivals: list[tuple[int, Process]]
    earlier: int = 0

    @property
    def newest(self) -> Generation:
        return self.parts[-1]


def newest_run(found: Iterable[Process]) -> Run:
    """The newest of the runs that left files in one folder; at least one process is needed."""
    *older, newest = generations(found)
    run = Run([newest], newest.doubled())
    over = False
    for each in reversed(older):
        if not over and (each.attempt < run.parts[0].attempt or _continues(each, run.parts[0])):
            run.parts.insert(0, each)
        elif rivals := _rivals(each, newest):
            run.rivals += rivals
        else:
            over = True
            run.earlier += len(each.members)
    return run


def _continues(earlier: Generation, later: Generation) -> bool:
    """One launch that made a process group, and then another one, or that started its ranks again."""
    agents = (set(earlier.agents.values()) & set(later.agents.values())) - {""}
    return bool(earlier.starters & later.starters or agents) and not _rivals(earlier, later)


def _rivals(other: Generation, newest: Generation) -> list[tuple[int, Process]]:
    held = newest.ranks()
    return [(rank, each) for rank, each in other.ranks().items() if rank in held and each.meets(held[rank])]
