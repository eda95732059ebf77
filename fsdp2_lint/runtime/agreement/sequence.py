"""The collectives that this rank issues, in order, where the report finds them however the job ends.

A hang or an abort in C++ leaves no time for last words, so each collective is written down before
it is issued: a few numbers into a file of fixed size, the oldest of which are overwritten. What the
numbers stand for is written to the rank's report when it is first seen. This goes on to the end of
the job, some hundred times in each step, so it takes a look at little: what repeats is known by one
key, and only where the user's code stands is asked anew.
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
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ...report.codec import site_as_json
from ...report.rank_file import RankFile, Unwritten, records
from ...report.ring import Ring
from ...report.sequences import UNTOLD, ring_of, sequences
from ...report.sequences import Sequence as Issues
from .. import adapter
from ..sites import Trail, called_from_user, in_background, moment_of, trail, users_next

EVERY = 256  # collectives of a group, between two looks at what other nodes have issued


@dataclass(slots=True)
class _Group:
    """``rolling`` is one number for all that was issued so far: equal on two ranks, they issued the same.

    ``mark`` is what it was at the last position that is a multiple of ``EVERY``: all ranks stop there.
    """

    number: int
    ranks: tuple[int, ...]
    issued: int = 0
    rolling: int = 0
    mark: tuple[int, int] = (0, 0)


class Mark(NamedTuple):
    """``rolling`` of a group after so many collectives."""

    group: str
    ranks: tuple[int, ...]
    issued: int
    rolling: int


class _Spot(NamedTuple):
    """Where the user's code stood: how far that frame was from here, and the number of the place."""

    depth: int
    code: CodeType
    offset: int
    place: int


@dataclass(eq=False, slots=True)
class Known:
    """A collective that came before. ``spots`` are the last places that it came from: in forward, and in backward."""

    group: _Group
    number: int
    digest: int
    numel: int
    dtype: Any
    spots: tuple[_Spot, ...] = ()


@dataclass(eq=False, slots=True)
class Use:
    """What collectives are for, by the names of parameters. ``told``: all ranks of their group know them.

    ``shared``: FSDP2 gathers and reduces the same parameters in each step, by the same collectives: these are
    ``known`` here.
    """

    names: tuple[str, ...] = ()
    shared: bool = False
    told: bool = False
    known: dict[adapter.Issue, Known] = field(default_factory=dict)
    latest: dict[str, tuple[int, Known]] = field(default_factory=dict)  # by kind, with the group's identity


@dataclass(eq=False, slots=True)
class At:
    """What a thread is at."""

    use: Use | None = None


class _Now(threading.local):
    """``at`` is one object for each thread: to ask for it takes longer than what it is asked."""

    def __init__(self) -> None:
        self.at = At()


PATIENCE = 1.0  # seconds until a turn is given up, and with it the comparison
MOST_SPOTS = 4
_NONE = (0, Known(_Group(0, ()), UNTOLD, 0, -1, None))
MOST_KINDS = 10_000  # sizes that change from step to step would fill the disk in a long job


class Sequence:
    """``now.at`` is what this thread is at: a saver in the background has nothing to do with what is gathered."""

    def __init__(self, file: RankFile | Unwritten) -> None:
        self.now = _Now()
        self._file = file
        self._ring = _opened(file)
        # Who takes the one element has the turn: it costs a fifth of a lock that nobody has touched for a while.
        self._turn = [True]
        self._groups: dict[str, _Group] = {}
        self._kinds = 0
        self._no_use = Use()
        self._places: dict[Any, tuple[int, Trail]] = {}
        _forget_in_children(self)

    @property
    def is_kept(self) -> bool:
        return self._ring is not None

    @property
    def total(self) -> int:
        return self._ring.total if self._ring is not None else 0

    def add(self, issue: adapter.Issue) -> None:
        """A collective is about to be issued."""
        use = self.now.at.use or self._no_use
        self._write(use, use.known.get(issue), lambda: issue)

    def add_own(self, use: Use, kind: str, group: Any, sent: Any, read: Callable[[], adapter.Issue | None]) -> None:
        """The same of one of FSDP2's, whose parameters keep their group: the object tells as much as its name."""
        tensor = sent[0] if isinstance(sent, list) else sent
        of, known = use.latest.get(kind, _NONE)
        if of == id(group) and known.numel == tensor.numel() and known.dtype is tensor.dtype:
            self._write(use, known, read)
        elif (learned := self._write(use, None, read)) is not None:
            use.latest[kind] = id(group), learned

    def _write(self, use: Use, known: Known | None, read: Callable[[], adapter.Issue | None]) -> Known | None:
        """Asked some hundred times in a step, with other work in between: all that it touches comes from memory."""
        ring = self._ring
        if ring is None:
            return None
        try:
            self._turn.pop()
        except IndexError:
            if not self._comes_our_turn():
                return None
        try:
            if known is None:
                issue = read()
                if issue is None:
                    return None
                known = use.known.get(issue) or self._learn(issue, use)
            # To walk to the user's frame takes much longer than to see whether it is where it was before.
            for depth, code, offset, number in known.spots:
                try:
                    frame = sys._getframe(depth)
                except ValueError:
                    continue
                if frame.f_code is code and frame.f_lasti == offset:
                    place = number
                    break
            else:
                place = self._look_up(known, sys._getframe(2)) if use.shared else self._place(sys._getframe(2))
            group = known.group
            # The same on all ranks: what numbers hash to follows from their values alone.
            group.rolling = rolling = hash((group.rolling, known.digest))
            ring.write(group.number, group.issued, known.number, place, rolling)
            group.issued += 1
            if not group.issued % EVERY:
                group.mark = (group.issued, rolling)
        finally:
            self._turn.append(True)
        return known

    def _comes_our_turn(self) -> bool:
        """Another thread is at it. Or this one is, and a signal has called us in between: nobody waits for that."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(0)
            with suppress(IndexError):
                return self._turn.pop()
        self.stop()
        return False

    def marks(self) -> list[Mark]:
        """How far each group has come, in strides that all its ranks have in common."""
        return [Mark(name, each.ranks, *each.mark) for name, each in list(self._groups.items()) if each.mark[0]]

    def own(self, name: str) -> list[Issues]:
        """What this rank has issued in a group, as far as its file still has it."""
        if not isinstance(self._file, RankFile):
            return []
        told = sequences(adapter.own_rank(), self._file.path, records(self._file.path))
        return [each for each in told if each.group == name]

    def _learn(self, issue: adapter.Issue, use: Use) -> Known:
        name, kind, numel, dtype = issue
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(len(self._groups), adapter.ranks_of_group(name))
            self._file.write("group", id=group.number, name=name, ranks=list(group.ranks))
        # Ranks whose part of a parameter is empty do not know its name: that is no difference.
        size = adapter.size_of(issue)
        common = "|".join((kind, size, *(use.names if use.told else ())))
        digest = int.from_bytes(hashlib.blake2b(common.encode(), digest_size=8).digest(), "little")
        if self._kinds == MOST_KINDS:
            return Known(group, UNTOLD, digest, numel, dtype)
        known = use.known[issue] = Known(group, self._kinds, digest, numel, dtype)
        self._kinds += 1
        self._file.write("collective", id=known.number, kind=kind, size=size, names=list(use.names))
        return known

    def _look_up(self, known: Known, frame: FrameType) -> int:
        """FSDP2's own come from one call of a module or of backward: the innermost line tells which one."""
        place = self._place(frame)
        own, depth = users_next(frame)
        if own is None:  # in a thread of autograd, while that which trains waits for it
            own, depth = _outermost(frame)
        spot = _Spot(depth + 2, own.f_code, own.f_lasti, place)  # as `_write` sees it
        known.spots = (spot, *known.spots)[:MOST_SPOTS]
        return place

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
        self._ring = None  # its memory goes when no thread writes to it any more


def _outermost(frame: FrameType) -> tuple[FrameType, int]:
    depth = 0
    while (back := frame.f_back) is not None:
        frame, depth = back, depth + 1
    return frame, depth


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
