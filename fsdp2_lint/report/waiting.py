"""Rank 0 speaks for the job: before that, the others get the time to write their last words."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..vocab.facts import in_words
from .folders import launch_id
from .rank_file import first_record, last_record, rank_files
from .watcher.processes import state

PATIENCE = 10.0  # seconds for those of whom nothing is known
FAR = 300.0  # for ranks of other machines that have begun: whether they live cannot be seen from here
_PAUSE = 0.05


@dataclass(slots=True)
class Waiting:
    """``token`` and ``ranks`` are those of the job as this rank knows them, ``began`` is when it began itself."""

    folder: Path
    token: str
    ranks: range
    began: float
    _ended: dict[Path, Mapping[str, Any]] = field(default_factory=dict)
    _starts: dict[Path, Mapping[str, Any]] = field(default_factory=dict)

    def wait(self, *, failed: bool, say: Callable[[str], None]) -> None:
        """Until the others have ended or died. Of a job that failed nobody knows who will come to an end.

        To end while a rank is at work would have the launcher stop that one, if there is anything to say.
        """
        since, told = time.monotonic(), False
        while missing := self._missing():
            waited = time.monotonic() - since
            if waited >= self._patience(failed):
                return
            if waited >= PATIENCE and not told:
                told = True
                say(f"the report waits for {in_words(missing)}")
            time.sleep(_PAUSE)

    def _missing(self) -> tuple[int, ...]:
        for path in rank_files(self.folder):
            if path not in self._ended and (last := last_record(path)).get("record") == "end":
                self._ended[path] = last
        mine = [each for each in self._ended.values() if each.get("token", "") == self.token]
        ended = {each.get("rank") for each in mine if each.get("time", 0.0) >= self.began}
        return tuple(rank for rank in self.ranks if rank not in ended)

    def _patience(self, failed: bool) -> float:
        if failed:
            return PATIENCE / 5
        left = [path for path in rank_files(self.folder) if path not in self._ended and self._is_recent(path)]
        return max((self._time_for(self._start(path)) for path in left), default=PATIENCE)

    def _is_recent(self, path: Path) -> bool:
        """Has it been written since this rank began? Else it is of an earlier run."""
        try:
            return path.stat().st_mtime >= self.began - 1
        except OSError:
            return False

    def _start(self, path: Path) -> Mapping[str, Any]:
        if path not in self._starts and (said := first_record(path)):
            self._starts[path] = said
        return self._starts.get(path, {})

    def _time_for(self, start: Mapping[str, Any]) -> float:
        if start.get("host") != socket.gethostname():
            return FAR if start else PATIENCE
        pid = start.get("pid")
        if start.get("launch") == launch_id() or not isinstance(pid, int):
            return PATIENCE  # this process, or one that it started and that may live as long as it does
        return PATIENCE if state(pid, "") == "gone" else float("inf")
