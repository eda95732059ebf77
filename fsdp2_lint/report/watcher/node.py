"""The ranks of one machine, as their heartbeats and their processes show them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..codec import moment_as_json
from ..hangs.beats import beat_of
from ..hangs.dumps import dump_of, own_frames, place_of, waits
from ..hangs.farewells import seen_of
from ..hangs.layers import Layers
from .processes import Deaths, state

# -- a rank of this node, as its heartbeats and its process show it
SILENCE = 3.0  # seconds: a thread of a busy machine may be late by less
_STANDS = ("at", "stack", "by", "waits", "issued")


class Local:
    """``beat`` is the last one, and ``how`` what the rank is cut off by, as in a stall; empty while it runs."""

    def __init__(self, path: Path, layers: Layers, now: float) -> None:
        self.path, self._layers = path, layers
        self.beat: dict[str, Any] = {}
        self.how = ""
        self._changed = now
        self._alive, self._gone, self._mourned = 0.0, 0.0, False
        report = path.parent.parent / f"{path.stem}.jsonl"
        self._file = seen_of(report)

    @property
    def ended(self) -> bool:
        return self.how == "gone" or self.beat.get("state") == "ended"

    def look(self, patience: float, now: float) -> None:
        """``now`` is that of a clock that nobody sets. What is new is written down."""
        if not self.path.exists():  # it says no more of itself, and nothing follows from that
            self.excuse(now)
            if not self.beat or state(self.beat["pid"], self.beat["born"]) == "gone":
                self.how = "gone"
            return
        beat = beat_of(self.path) or self.beat
        if beat.get("n") != self.beat.get("n"):
            self.beat, self._changed = beat, now
            if self.how:
                self.how = ""
                self.write("moved_on", time=beat["time"])
        if self.how == "gone" and not self._mourned and now - self._changed >= patience:
            self._mourned = True
            self._stall("gone", self._gone, patience, self.beat)  # whoever waits now has done so since then
        if self.beat and not self.ended:
            self._judge(self._state(), patience, now)

    def outlives(self) -> None:
        """Another rank was just seen to be gone: is this one still there?"""
        if self.beat and not self.ended:
            self._state()

    def _state(self) -> str:
        found = state(self.beat["pid"], self.beat["born"])
        if found != "gone":
            self._alive = time.time()
        return found

    def excuse(self, now: float) -> None:
        """Nobody looked for a while: what stands still since then is not known."""
        self._changed = now

    def _judge(self, state: str, patience: float, now: float) -> None:
        silent = now - self._changed >= max(patience, SILENCE)
        how = "gone" if state == "gone" else "stopped" if silent and state == "stopped" else "held" if silent else ""
        if how == "held" and self.how == "stopped":
            how = "stopped"  # it has been sent on, and did not say so yet
        if how and how != self.how:
            self.how = how
            self._tell(patience, now)

    def _tell(self, patience: float, now: float) -> None:
        """What the rank did last, by its last beat and by what its interpreter wrote without the lock."""
        if self.how == "gone":
            self._gone, self._changed = time.time(), now
            where = {name: self.beat[name] for name in ("at", "stack", "by")}
            self.write("gone", time=self._gone, alive=self._alive, **where)
        else:
            self._stall(self.how, self.beat["time"], patience, {**self.beat, **self._dumped()})

    def _stall(self, how: str, since: float, patience: float, does: Mapping[str, Any]) -> None:
        self.write("stall", since=since, after=patience, how=how, **{name: does[name] for name in _STANDS})

    def _dumped(self) -> dict[str, Any]:
        dump = dump_of(self.path.with_suffix(".held")) if self.how == "held" else None
        if dump is None:
            return {}
        frames = own_frames(dump, self.beat["thread"], self._layers)
        moment = place_of(frames, self._layers)
        return {} if moment is None else {**moment_as_json(moment), "waits": waits(frames, self._layers)}

    def write(self, record: str, **values: Any) -> None:
        """For good at once: a line of JSON, as in the reports."""
        line = json.dumps({"record": record, "pid": self.beat.get("pid", 0), **values}) + "\n"
        with suppress(OSError):  # a full disk: what it cannot write it can still say
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)


@dataclass(slots=True)
class Node:
    """The ranks of this node, by the names of their files. ``patience`` is in seconds."""

    folder: Path
    patience: float
    layers: Layers
    ranks: dict[str, Local] = field(default_factory=dict)
    deaths: Deaths = field(default_factory=Deaths)

    def look(self, now: float) -> None:
        for path in sorted(self.folder.glob("*.beat")):
            if path.stem not in self.ranks:
                self.ranks[path.stem] = Local(path, self.layers, now)
        went = False
        for rank in self.ranks.values():
            known, ended = bool(rank.beat), rank.ended
            rank.look(self.patience, now)
            if rank.beat and not known:
                self.deaths.watch(rank.beat["pid"])
            if rank.ended and not ended:
                went = True
                self.deaths.forget(rank.beat["pid"])
        for rank in self.ranks.values() if went else ():
            rank.outlives()

    def excuse(self, now: float) -> None:
        for rank in self.ranks.values():
            rank.excuse(now)

    @property
    def is_over(self) -> bool:
        """Also where a rank was killed before its first beat."""
        return bool(self.ranks) and all(rank.ended or not rank.beat for rank in self.ranks.values())
