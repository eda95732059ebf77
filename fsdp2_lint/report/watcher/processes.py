"""Other processes of this machine, seen from outside."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from pathlib import Path


def born(pid: int | str = "self") -> str:
    """When a process began, as the kernel counts it: numbers of processes are given again. Empty if unknown."""
    fields = _fields(pid)
    return fields[19] if len(fields) > 19 else ""


def state(pid: int, began: str) -> str:
    """``running``, ``stopped`` by a signal, or ``gone``."""
    fields = _fields(pid)
    if not fields:
        return "running" if not os.path.isdir("/proc/self") and _answers(pid) else "gone"
    if fields[0] in "ZX" or (began and fields[19] != began):
        return "gone"
    return "stopped" if fields[0] in "Tt" else "running"


def _fields(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


class Deaths:
    """Wakes whoever waits when a process ends, where the system can tell."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: dict[int, int] = {}

    def watch(self, pid: int) -> None:
        with suppress(AttributeError, OSError):
            self._watched[pid] = descriptor = os.pidfd_open(pid)
            self._poll.register(descriptor, select.POLLIN)

    def forget(self, pid: int) -> None:
        if (descriptor := self._watched.pop(pid, None)) is not None:
            self._poll.unregister(descriptor)
            os.close(descriptor)

    def wait(self, seconds: float) -> bool:
        """Has one of them ended?"""
        if self._watched:
            return bool(self._poll.poll(seconds * 1000))
        time.sleep(seconds)
        return False
