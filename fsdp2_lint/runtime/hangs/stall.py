"""A thread that sees when this rank stands still: between two collectives, or in one.

It sleeps, and looks once in a while at counts that others keep. Nothing is added to the training
thread, so it can stay to the end of the job, where hangs like to be. It needs the interpreter's lock:
its heartbeats tell a process beside the job when that is held.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from ...report.codec import moment_as_json, ranks_as_text
from ...report.rank_file import RankFile
from .. import adapter
from ..agreement.nodes import Nodes
from ..session import Session
from ..sites import moment_of, standing
from .heartbeat import Heartbeat

LOOKS = 5  # in each stretch of patience
LONGEST = 1.0  # seconds between two looks
Counts = dict[str, tuple[tuple[int, ...], int]]


class StallWatch:
    """``compare`` is called some time after a stall was written down, where no process beside the job does so."""

    def __init__(self, session: Session, compare: Callable[[], None] = lambda: None, *, alone: bool = False) -> None:
        self._session = session
        self._compare = compare
        self._alone = alone
        self._patience = session.options.stall_after
        self._pause = min(self._patience / LOOKS, LONGEST)
        self._over = threading.Event()
        self._issued: Counts = {}
        self._paired: set[str] = set()
        self._stands: dict[str, Any] = {}
        self._since = self._away = time.time()  # when it last issued something, and was last seen outside of torch
        self._told: bool | None = None  # that it waits, or does not
        self._looks = 0
        self._heart: Heartbeat | None = None
        broke = functools.partial(session.defect, "nodes")
        self._nodes = Nodes(session.sequence, session.file, session.disagree, broke)
        self._thread = threading.Thread(target=self._run, name="fsdp2-lint-stall", daemon=True)

    def start(self) -> None:
        if self._patience <= 0 or not self._session.compares("stall"):
            return
        for owner, name in adapter.messages():
            self._session.rare.replace(owner, name, self._noted(getattr(owner, name)))
        self._session.quietly(self._begin_to_beat)()
        self._thread.start()
        if self._session.options.watch:
            self._nodes.start()

    def stop(self, *, went_on: bool = True) -> None:
        """``went_on``: the script has come to its end on this rank, and was not thrown out of a wait."""
        if not self._over.is_set() and self._thread.is_alive():
            self._over.set()
            self._thread.join(self._pause)
            self._nodes.stop()
            self._session.quietly(self._end)(went_on)

    def _begin_to_beat(self) -> None:
        if isinstance(self._session.file, RankFile):
            try:
                self._heart = Heartbeat(self._session, self._session.file, alone=self._alone)
                self._heart.start()
            except OSError as error:
                self._session.file.write("unwatched", why=str(error))

    def _end(self, went_on: bool) -> None:
        if self._heart is not None:
            self._heart.stop()
        if not went_on:
            return
        now = time.time()
        if self._told is not None:
            self._session.file.write("moved_on", time=now)
        if self._stands and (issued := self._groups()):  # groups that nobody has taken down: others may wait in them
            self._session.file.write(
                "stall", **{**self._stands, "issued": issued, "waits": False, "since": now}, **self._how("ended")
            )

    def _how(self, how: str) -> dict[str, Any]:
        return {"after": self._patience, "how": how}

    def _noted(self, original: Any) -> Any:
        """A message between two ranks: what its group counts says nothing of who is behind."""
        paired = self._paired

        def message(group: Any, *args: Any, **kwargs: Any) -> Any:
            paired.add(str(group.group_name))
            return original(group, *args, **kwargs)

        return message

    def _run(self) -> None:
        while True:
            try:
                self._look(time.time())
            except Exception as error:
                self._session.defect("stall", error)
                if self._heart is not None:
                    self._heart.withdraw("its own thread broke down")
                return
            if self._over.wait(self._pause):
                return

    def _look(self, now: float) -> None:
        where, by, waits = standing()
        self._stands = {
            **moment_as_json(moment_of(list(where))),
            "by": by,
            "waits": waits,
            "issued": self._groups(),
        }
        self._judge(now, waits)
        if self._heart is not None:
            self._beat(now)

    def _groups(self) -> list[Any]:
        counts = adapter.issued() if dist.is_initialized() else {}
        return [[name, ranks_as_text(ranks), count, name in self._paired] for name, (ranks, count) in counts.items()]

    def _judge(self, now: float, waits: bool) -> None:
        """Who is seen outside of torch now and then, as by a loop that asks whether it is done, does not wait there."""
        issued = self._stands["issued"]
        self._away = self._away if waits else now
        if issued != self._issued or (self._told and not waits) or not issued:
            self._move_on(now, now if not waits else 0.0)
            self._issued = issued
        steady = waits and (self._away < self._since or now - self._away >= self._patience)
        if self._told is False and steady:
            self._move_on(self._away, 0.0)
        if self._told is None and now - self._since >= self._patience:
            self._tell(steady)
        elif self._told is not None:
            self._compare_later()

    def _move_on(self, now: float, away: float) -> None:
        if self._told is not None:
            self._session.file.write("moved_on", time=now)
        self._since, self._away, self._told, self._looks = now, away, None, 0

    def _tell(self, steady: bool) -> None:
        self._told = steady
        self._session.file.write("stall", since=self._since, **{**self._stands, "waits": steady}, **self._how(""))
        if self._heart is not None:
            self._heart.be_watched()

    def _compare_later(self) -> None:
        """The other ranks are given the time to write theirs down."""
        self._looks += 1
        if self._looks == 2 and not (self._heart is not None and self._heart.watched):
            self._compare()

    def _beat(self, now: float) -> None:
        assert self._heart is not None
        state = "running" if self._told is None else "still"
        stack = max(self._patience / 2, 2 * self._pause)  # seconds after which the interpreter writes its stacks
        self._heart.beat(stack, time=now, since=self._since, state=state, **self._stands)
        if self._issued and not self._heart.asked:
            self._heart.be_watched()
