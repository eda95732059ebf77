"""What the interpreter can write of itself when no Python runs any more: ``faulthandler``, into files of the report.

A thread of it that needs no lock writes the stacks when it is not put off in time, and a handler does so when a signal
ends the process. There is one of each per process: a script that wants them for itself gets them, for good.
"""

from __future__ import annotations

import faulthandler
import os
import threading
from pathlib import Path
from typing import IO, Any

from ..patches import Patches

_TIMERS = ("dump_traceback_later", "cancel_dump_traceback_later")


class Stacks:
    """``fatal`` and ``held`` are the files. Nothing is armed before :meth:`start`, which raises OSError."""

    def __init__(self, fatal: Path, held: Path) -> None:
        self._paths = fatal, held
        self._fatal: IO[bytes] | None = None
        self._held: IO[bytes] | None = None
        self._lock = threading.Lock()  # between the heartbeat and the script
        self._seconds = 0.0  # after which the stacks are written; 0 before the first beat

    def start(self, patches: Patches) -> None:
        fatal, held = self._paths
        self._held = held.open("wb", buffering=0)
        for name in _TIMERS:
            patches.replace(faulthandler, name, self._handing_over(getattr(faulthandler, name)))
        if not faulthandler.is_enabled():
            self._fatal = fatal.open("wb", buffering=0)
            faulthandler.enable(self._fatal)
            for name in ("enable", "disable"):
                patches.replace(faulthandler, name, self._given_up(getattr(faulthandler, name)))
            patches.replace(faulthandler, "is_enabled", self._is_enabled(faulthandler.is_enabled))
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._leave_child
        )

    def put_off(self, seconds: float) -> None:
        """The stacks are written unless this is called again in so many seconds."""
        with self._lock:
            if self._held is not None:
                self._seconds = seconds
                _arm(seconds, self._held)

    def stop(self) -> None:
        """As it was before; files that nothing was written to go."""
        with self._lock:
            if self._held is not None:
                _disarm()
            if self._fatal is not None:
                _disable()
            self._fatal = self._held = None
        for path in self._paths:
            if path.exists() and not path.stat().st_size:
                path.unlink()

    def _handing_over(self, original: Any) -> Any:
        def timer(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                self._held = None
            return original(*args, **kwargs)

        return timer

    def _given_up(self, original: Any) -> Any:
        def handler(*args: Any, **kwargs: Any) -> Any:
            self._fatal = None
            return original(*args, **kwargs)

        return handler

    def _is_enabled(self, original: Any) -> Any:
        def is_enabled() -> bool:
            """As the script would find it without us."""
            return self._fatal is None and bool(original())

        return is_enabled

    def _before_fork(self) -> None:
        """In a child the thread that would write is gone, and who then arms or disarms it waits for it for ever.

        So it is not there while a process forks.
        """
        self._lock.acquire()
        if self._held is not None:
            _disarm()

    def _after_fork(self) -> None:
        try:
            if self._held is not None and self._seconds:
                _arm_later(self._seconds, file=self._held)
        finally:
            self._lock.release()

    def _leave_child(self) -> None:
        """A process that the job forks does not speak for the rank."""
        self._lock.release()
        if self._fatal is not None:
            _disable()
        self._fatal = self._held = None


# Ours, whatever stands in their place meanwhile.
_arm_later, _disarm, _disable = (
    faulthandler.dump_traceback_later,
    faulthandler.cancel_dump_traceback_later,
    faulthandler.disable,
)


def _arm(seconds: float, file: IO[bytes]) -> None:
    """In the place of what was armed before, in one step.

    Disarmed first, it would stay so where another thread takes the interpreter's lock in between and keeps it.
    """
    if os.fstat(file.fileno()).st_size:
        file.seek(0)
        file.truncate()  # it was late, and goes on
    _arm_later(seconds, file=file)
