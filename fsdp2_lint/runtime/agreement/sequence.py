"""The collectives that this rank issues, in order, where the report finds them however the job ends.

A hang or an abort in C++ leaves no time for last words, so each collective is written down before
it is issued: a few numbers into a file of fixed size, the oldest of which are overwritten. What the
numbers stand for is written to the rank's report when it is first seen. This goes on to the end of
the job; what FSDP2 itself issues, some hundred times in each step, has a shorter way (``steady``).
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

from ...report.codec import site_as_json
from ...report.halves import MOST_GROUPS, SLOTS, UNTOLD, Follower, token
from ...report.rank_file import RankFile, Unwritten, records
from ...report.ring import Ring, follow
from ...report.sequences import Sequence as Issues
from ...report.sequences import ring_of, sequences
from .. import adapter
from ..sites import Trail, called_from_user, in_background, moment_of, trail

EVERY = 256  # collectives of a group, between two looks at what other nodes have issued


class _Group(NamedTuple):
    number: int
    ranks: tuple[int, ...]


class Mark(NamedTuple):
    """``rolling`` of a group after so many collectives."""

    group: str
    ranks: tuple[int, ...]
    issued: int
    rolling: int


class Known(NamedTuple):
    """A collective that came before, by the numbers of its group and of its kind."""

    group: int
    number: int
    digest: int


@dataclass(eq=False, slots=True)
class Spot:
    """One of FSDP2's collectives at one line of the user, by what it is known again, and what is stored for it.

    ``depth``: how far the user's frame is from the function that issues. ``next``: what came after it the last time.
    """

    sign: tuple[Any, ...]
    depth: int
    token: bytes
    next: Spot = field(init=False)

    def __post_init__(self) -> None:
        self.next = self


@dataclass(eq=False, slots=True)
class Use:
    """What collectives are for, by the names of parameters. ``told``: all ranks of their group know them.

    ``shared``: FSDP2 gathers and reduces the same parameters in each step, by the same collectives.
    """

    names: tuple[str, ...] = ()
    shared: bool = False
    told: bool = False
    known: dict[adapter.Issue, Known] = field(default_factory=dict)
    spots: list[Spot] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class At:
    """What a thread is at."""

    use: Use | None = None


class _Now(threading.local):
    """``at`` is one object for each thread: to ask for it takes longer than what it is asked."""

    def __init__(self) -> None:
        self.at = At()


PATIENCE = 1.0  # seconds until a turn is given up, and with it the comparison
MOST_KINDS = 10_000  # sizes that change from step to step would fill the disk in a long job


class Sequence:
    """``now.at`` is what this thread is at: a saver in the background has nothing to do with what is gathered."""

    def __init__(self, file: RankFile | Unwritten) -> None:
        self.now = _Now()
        self.at_close: list[Callable[[], None]] = []
        self._file = file
        self._ring = _opened(file)
        self.write: Callable[[bytes], object] = self._ring.write if self._ring is not None else _nowhere
        # Who takes the one element has the turn: it costs a fifth of a lock that nobody has touched for a while.
        self._turn = [True]
        self._groups: dict[str, _Group] = {}
        self._kinds = 0
        self._no_use = Use()
        self._places: dict[Any, tuple[int, Trail]] = {}
        self._follower: Follower | None = None
        self._marks: dict[int, tuple[int, int]] = {}
        _forget_in_children(self)

    @property
    def is_kept(self) -> bool:
        return self._ring is not None

    @property
    def total(self) -> int:
        return self._ring.total if self._ring is not None else 0

    def add(self, issue: adapter.Issue) -> bytes:
        """A collective is about to be issued."""
        return self.add_for(self.now.at.use or self._no_use, issue, sys._getframe(1))

    def add_for(self, use: Use, issue: adapter.Issue, frame: FrameType) -> bytes:
        """The same of one that is for these parameters: what was stored; empty where nothing is followed any more."""
        if self._ring is None or not self._takes_turn():
            return b""
        try:
            known = use.known.get(issue) or self._learn(issue, use)
            stored = token(known.group, known.number, self._place(frame), known.digest)
            self._store(stored)
            return stored
        finally:
            self._turn.append(True)

    def add_again(self, stored: bytes) -> None:
        """The same once more."""
        if self._ring is not None and self._takes_turn():
            try:
                self._store(stored)
            finally:
                self._turn.append(True)

    def _store(self, stored: bytes) -> None:
        try:
            self.write(stored)
        except ValueError:
            if self._ring is not None:
                self._ring.turn()
                self.write = self._ring.write
            self.write(stored)

    def _takes_turn(self) -> bool:
        with suppress(IndexError):
            return self._turn.pop()
        return self._comes_our_turn()

    def _comes_our_turn(self) -> bool:
        """Another thread is at it. Or this one is, and a signal has called us in between: nobody waits for that."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(0)
            with suppress(IndexError):
                return self._turn.pop()
        self.stop()
        return False

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """The groups in which something was issued, with their ranks."""
        return [(name, each.ranks) for name, each in list(self._groups.items())]

    def marks(self) -> list[Mark]:
        """How far each group has come, in strides that all its ranks have in common: asked by one thread alone."""
        if self._follower is None and isinstance(self._file, RankFile):
            self._follower = follow(ring_of(self._file.path))
        while found := self._follower.new(SLOTS) if self._follower is not None else []:
            for group, number, rolling in found:
                if not (number + 1) % EVERY:
                    self._marks[group] = (number + 1, rolling)
        known = [(name, each, self._marks.get(each.number)) for name, each in list(self._groups.items())]
        return [Mark(name, each.ranks, *mark) for name, each, mark in known if mark is not None]

    def own(self, name: str) -> list[Issues]:
        """What this rank has issued in a group, as far as its file still has it."""
        if not isinstance(self._file, RankFile):
            return []
        told = sequences(adapter.own_rank(), self._file.path, records(self._file.path))
        return [each for each in told if each.group == name]

    def _learn(self, issue: adapter.Issue, use: Use) -> Known:
        name, kind, _, _ = issue
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(len(self._groups), adapter.ranks_of_group(name))
            self._file.write("group", id=group.number, name=name, ranks=list(group.ranks))
        if group.number >= MOST_GROUPS:
            raise RuntimeError(f"more than {MOST_GROUPS} process groups")
        # Ranks whose part of a parameter is empty do not know its name: that is no difference.
        size = adapter.size_of(issue)
        common = "|".join((kind, size, *(use.names if use.told else ())))
        digest = int.from_bytes(hashlib.blake2b(common.encode(), digest_size=4).digest(), "little")
        if self._kinds == MOST_KINDS:
            return Known(group.number, UNTOLD, digest)
        known = use.known[issue] = Known(group.number, self._kinds, digest)
        self._kinds += 1
        self._file.write("collective", id=known.number, kind=kind, size=size, names=list(use.names))
        return known

    def _place(self, frame: FrameType) -> int:
        # Code hashes by what it contains, and that takes time; what is known is kept, so no identity comes twice.
        where, aside = trail(frame), in_background()
        key = (aside, tuple([(id(code), offset) for code, offset, _ in where]))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = (len(self._places), where)
            self._tell_place(known[0], where, called_from_user(frame), aside)
        return known[0]

    def _tell_place(self, number: int, where: Trail, by: str, aside: bool) -> None:
        moment = moment_of(list(where))
        stack = [site_as_json(site) for site in moment.stack]
        self._file.write("place", id=number, at=site_as_json(moment.at), stack=stack, by=by, aside=aside)

    def stop(self) -> None:
        """Nothing follows from what is missing after this."""
        self._file.write("cut")
        self.close()

    def close(self) -> None:
        self._ring, self.write = None, _nowhere  # its memory goes when no thread writes to it any more
        for each in self.at_close:
            each()


def _nowhere(stored: bytes) -> None:
    pass


def _forget_in_children(sequence: Sequence) -> None:
    """A process that the job forks does not speak for the rank."""
    ref = weakref.ref(sequence)

    def forget() -> None:
        if (inherited := ref()) is not None:
            inherited.close()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def _opened(file: RankFile | Unwritten) -> Ring | None:
    try:
        return Ring(ring_of(file.path)) if isinstance(file, RankFile) else None
    except OSError:
        return None
