"""The collectives that this rank issues, in order, where the report finds them however the job ends.

A hang or an abort in C++ leaves no time for last words, so each collective is written down before
it is issued: a few numbers into a file of fixed size, the oldest of which are overwritten. What the
numbers stand for is written to the rank's report when it is first seen.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from ..report.codec import site_as_json
from ..report.rank_file import RankFile, Unwritten
from ..report.sequences import RECORD, SLOTS, ring_of
from . import adapter
from .sites import Trail, called_from_user, in_background, moment_of, trail


class Sequence:
    """``used_for`` are the names of the parameters that are being gathered, or whose gradients are being reduced."""

    def __init__(self, file: RankFile | Unwritten) -> None:
        self.total = 0
        self._use = threading.local()
        self._file = file
        self._ring = _opened(ring_of(file.path)) if isinstance(file, RankFile) else None
        self._owner = os.getpid()
        self._lock = threading.Lock()  # data loaders and savers may have threads with groups of their own
        self._counts: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._kinds: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self._places: dict[tuple[bool, tuple[tuple[int, int], ...]], tuple[int, Trail]] = {}
        self._reduced: dict[tuple[str, ...], int] = {}  # where the gradients of these parameters are reduced

    @property
    def used_for(self) -> tuple[str, ...]:
        """Of this thread: a saver in the background has nothing to do with what is gathered meanwhile."""
        names: tuple[str, ...] = getattr(self._use, "names", ())
        return names

    @used_for.setter
    def used_for(self, names: tuple[str, ...]) -> None:
        self._use.names = names

    @property
    def is_kept(self) -> bool:
        return self._ring is not None

    def add(self, issue: adapter.Issue) -> None:
        """A collective is about to be issued."""
        if self._ring is None or os.getpid() != self._owner:
            return
        names = self.used_for
        reduced = names if issue.kind == "reduce_scatter" else ()  # by backward, which is called at one place
        if reduced not in self._reduced:
            frame = sys._getframe(1)
            where = trail(frame)
        with self._lock:
            number = self._counts.get(issue.group, 0)
            self._counts[issue.group] = number + 1
            group = self._number_of(self._groups, issue.group, self._tell_group)
            kind = self._number_of(self._kinds, (issue.kind, issue.size, names), self._tell_kind)
            place = self._reduced.get(reduced)
            if place is None:
                place = self._place(where, frame)
                if reduced:
                    self._reduced[reduced] = place
            data = RECORD.pack(self.total + 1, group, number, kind, place)
            try:
                os.pwrite(self._ring, data, self.total % SLOTS * RECORD.size)
            except OSError:
                self.stop()  # a full disk must not end the job
            self.total += 1

    def _place(self, where: Trail, frame: FrameType) -> int:
        # Code hashes by what it contains, and that takes time; what is known is kept, so no identity comes twice.
        aside = in_background()
        key = (aside, tuple([(id(code), offset) for code, offset, _ in where]))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = (len(self._places), where)
            self._tell_place(known[0], where, called_from_user(frame), aside)
        return known[0]

    def stop(self) -> None:
        """Nothing follows from what is missing after this."""
        self._file.write("cut")
        self.close()

    def close(self) -> None:
        if self._ring is not None and os.getpid() == self._owner:
            os.close(self._ring)
        self._ring = None

    def _number_of(self, known: dict[Any, int], what: Any, tell: Any) -> int:
        number = known.get(what)
        if number is None:
            number = known[what] = len(known)
            tell(number, what)
        return number

    def _tell_group(self, number: int, name: str) -> None:
        self._file.write("group", id=number, name=name, ranks=list(adapter.ranks_of_group(name)))

    def _tell_kind(self, number: int, what: tuple[str, str, tuple[str, ...]]) -> None:
        kind, size, names = what
        self._file.write("collective", id=number, kind=kind, size=size, names=list(names))

    def _tell_place(self, number: int, where: Trail, by: str, aside: bool) -> None:
        moment = moment_of(list(where))
        stack = [site_as_json(site) for site in moment.stack]
        self._file.write("place", id=number, at=site_as_json(moment.at), stack=stack, by=by, aside=aside)


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    except OSError:
        return None
