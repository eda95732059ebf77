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
import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

from ...report.codec import site_as_json
from ...report.rank_file import RankFile, Unwritten, records
from ...report.ring import Ring
from ...report.sequences import UNTOLD, ring_of, sequences
from ...report.sequences import Sequence as Issues
from .. import adapter
from ..sites import Trail, called_from_user, in_background, moment_of, trail, users_next

_MASK = 2**64 - 1
_PRIME = 0x100000001B3
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


@dataclass(eq=False, slots=True)
class Known:
    """A collective that came before. ``depth`` is how far the user's frame was from it, or 0."""

    group: _Group
    number: int
    digest: int
    depth: int = 0


@dataclass(eq=False, slots=True)
class Use:
    """What collectives are for, by the names of parameters. ``shared``: all ranks of their group know them.

    FSDP2 gathers and reduces the same parameters in each step, by the same collectives: these are ``known`` here.
    """

    names: tuple[str, ...] = ()
    shared: bool = False
    known: dict[Any, Known] = field(default_factory=dict)


class _Now(threading.local):
    use: Use | None = None


_Place = tuple[int, Trail]
MOST_KINDS = 10_000  # sizes that change from step to step would fill the disk in a long job


class Sequence:
    """``now.use`` is what this thread is at: a saver in the background has nothing to do with what is gathered."""

    def __init__(self, file: RankFile | Unwritten) -> None:
        self.now = _Now()
        self._file = file
        self._ring = _opened(file)
        self._lock = threading.Lock()  # data loaders and savers may have threads with groups of their own
        self._groups: dict[str, _Group] = {}
        self._kinds = 0
        self._no_use = Use()
        self._places: dict[Any, _Place] = {}
        _forget_in_children(self)

    @property
    def is_kept(self) -> bool:
        return self._ring is not None

    @property
    def total(self) -> int:
        return self._ring.total if self._ring is not None else 0

    def add(self, issue: adapter.Issue) -> None:
        """A collective is about to be issued."""
        if self._ring is None:
            return
        use = self.now.use or self._no_use
        with self._lock:
            known = use.known.get(issue) or self._learn(issue, use)
            place = None
            # To walk to the user's frame takes much longer than to see whether it is where it was the last time.
            if depth := known.depth:
                try:
                    frame = sys._getframe(depth)
                except ValueError:
                    pass
                else:
                    place = self._places.get((id(frame.f_code), frame.f_lasti, known.number))
            if place is None:
                place = self._look_up(known, sys._getframe(1)) if use.shared else self._place(sys._getframe(1))
            group = known.group
            group.rolling = rolling = (group.rolling * _PRIME ^ known.digest) & _MASK
            self._ring.write(group.number, group.issued, known.number, place[0], rolling)
            group.issued += 1
            if not group.issued % EVERY:
                group.mark = (group.issued, rolling)

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
        name, kind, _, _ = issue
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(len(self._groups), adapter.ranks_of_group(name))
            self._file.write("group", id=group.number, name=name, ranks=list(group.ranks))
        # Ranks whose part of a parameter is empty do not know its name: that is no difference.
        size = adapter.size_of(issue)
        common = "|".join((kind, size, *(use.names if use.shared else ())))
        digest = int.from_bytes(hashlib.blake2b(common.encode(), digest_size=8).digest(), "little")
        if self._kinds == MOST_KINDS:
            return Known(group, UNTOLD, digest)
        known = use.known[issue] = Known(group, self._kinds, digest)
        self._kinds += 1
        self._file.write("collective", id=known.number, kind=kind, size=size, names=list(use.names))
        return known

    def _look_up(self, known: Known, frame: FrameType) -> _Place:
        """FSDP2's own come from one call of a module or of backward: the innermost line tells which one."""
        own, depth = users_next(frame)
        key: Any = known.number  # in a thread of autograd, while that which trains waits for it
        if own is not None:
            known.depth = depth + 1  # as `add` sees it
            key = (id(own.f_code), own.f_lasti, known.number)
        return self._places.get(key) or self._places.setdefault(key, self._place(frame))

    def _place(self, frame: FrameType) -> _Place:
        # Code hashes by what it contains, and that takes time; what is known is kept, so no identity comes twice.
        where, aside = trail(frame), in_background()
        key = (aside, tuple([(id(code), offset) for code, offset, _ in where]))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = (len(self._places), where)
            self._tell_place(known[0], where, called_from_user(frame), aside)
        return known

    def _tell_place(self, number: int, where: Trail, by: str, aside: bool) -> None:
        moment = moment_of(list(where))
        stack = [site_as_json(site) for site in moment.stack]
        self._file.write("place", id=number, at=site_as_json(moment.at), stack=stack, by=by, aside=aside)

    def stop(self) -> None:
        """Nothing follows from what is missing after this."""
        self._file.write("cut")
        self.close()

    def close(self) -> None:
        if self._ring is not None:
            self._ring.close()
        self._ring = None


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
