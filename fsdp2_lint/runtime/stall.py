"""A thread that sees when this rank stands still: between two collectives, or in one.

It sleeps, and looks once in a while at counts that others keep. Nothing is added to the training
thread, so it can stay to the end of the job, where hangs like to be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import FrameType

import torch.distributed as dist

from ..report.codec import moment_as_json
from . import adapter
from .session import Session
from .sites import called_from_user, main_frame, moment_of, trail_of_main, waits_in_torch

LOOKS = 5  # in each stretch of patience


class StallWatch:
    """``compare`` is called some time after a stall was written down, when the other ranks have had time to do so."""

    def __init__(self, session: Session, compare: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._compare = compare
        self._patience = session.options.stall_after
        self._pause = self._patience / LOOKS
        self._over = threading.Event()
        self._progress: object = None
        self._since = time.time()
        self._looks: int | None = None  # since a stall was told
        self._thread = threading.Thread(target=self._run, name="fsdp2-lint-stall", daemon=True)

    def start(self) -> None:
        if self._patience > 0 and self._session.compares("stall"):
            self._thread.start()

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            try:
                self._look()
            except Exception as error:
                self._session.defect("stall", error)
                return

    def _look(self) -> None:
        now = time.time()
        if not dist.is_initialized():
            self._since, self._progress = now, None
            return
        issued, frame = adapter.issued(), main_frame()
        waits = waits_in_torch(frame)
        if (issued, waits) != self._progress:
            if self._looks is not None:
                self._session.file.write("moved_on", time=now)
            self._progress, self._since, self._looks = (issued, waits), now, None
        elif self._looks is not None:
            self._looks += 1
            if self._looks == 2:
                self._compare()
        elif now - self._since >= self._patience:
            self._looks = 0
            self._tell(issued, frame, waits)

    def _tell(self, issued: dict[str, tuple[tuple[int, ...], int]], frame: FrameType | None, waits: bool) -> None:
        moment = moment_of(list(trail_of_main()))
        self._session.file.write(
            "stall",
            since=self._since,
            after=self._patience,
            **moment_as_json(moment),
            waits=waits,
            by=called_from_user(frame),
            issued=[[name, list(ranks), count] for name, (ranks, count) in issued.items()],
        )
