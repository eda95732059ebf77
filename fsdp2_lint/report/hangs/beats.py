"""The heartbeat of a rank: a small file that its own thread overwrites once in a while.

It says where the rank stands and how many collectives it has issued. Whoever finds it unchanged knows that the rank
runs no Python any more, and what it did last.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...files.reading import read
from ..sound import is_sound

SIZE = 8192
_PARTS = ("stack", "issued")  # what may be long, from what can be missed best


class BeatFile:
    """The writer. OSError where the file cannot be made or written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._number = 0
        self._last: dict[str, Any] = {}

    def write(self, **values: Any) -> None:
        """At one place, with a number at both ends that shows to readers whether they came in between."""
        self._number += 1
        self._last = values
        os.pwrite(self._descriptor, _encoded(self._number, values), 0)

    def end(self) -> None:
        """The script is over on this rank."""
        if self._last:
            self.write(**{**self._last, "state": "ended", "time": time.time()})  # it may have stood since the last one

    def withdraw(self) -> None:
        """Nothing follows from it that no more beats come."""
        self._last = {}
        self._path.unlink(missing_ok=True)


def _encoded(number: int, values: Mapping[str, Any]) -> bytes:
    for left_out in range(len(_PARTS) + 1):
        short: dict[str, list[Any]] = {name: [] for name in _PARTS[:left_out]}
        data = json.dumps({"record": "beat", "n": number, **values, **short, "m": number}).encode()
        if len(data) < SIZE:
            break
    return data.ljust(SIZE - 1) + b"\n"


def beat_of(path: Path) -> dict[str, Any] | None:
    """The last beat, or None where it is just being written, or cannot be read."""
    try:
        beat = json.loads(read(path, 2 * SIZE))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(beat, dict) and beat.get("record") == "beat" and beat.get("n") == beat.get("m")
    return beat if whole and is_sound(beat) else None


def node() -> str:
    """This machine, as far as processes can see each other on it: containers have numbers of their own."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    name = f"{os.uname().nodename}-{space}" if hasattr(os, "uname") else "node"
    return "".join(each if each.isalnum() or each in ".-" else "_" for each in name)[:100]
