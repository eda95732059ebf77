"""One rank's report: a line of JSON per record, written at once.

``os.write`` to a file that was opened for appending needs no flush and no exit handler, so what
was recorded survives an abort in C++ and SIGKILL. A line that was cut off is the last one, and
readers leave it out.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from ..files.reading import REPORT_BYTES, read

VERSION = 2
_NAME = re.compile(r"rank(\d+)(?:\.attempt(\d+))?(?:\.[\w.-]+)?\.jsonl")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
_HEAD, _TAIL = 1 << 16, 1 << 10  # bytes; the first record has all arguments of a script


class RankFile:
    """The writer. ``rank`` and ``attempt``, the how manieth restart of an elastic job, are what the process claims.

    No two processes share a file: who comes second takes another name. What the records say counts, not the name.
    ``lost`` is told why nothing more can be written, once.
    """

    def __init__(
        self, folder: Path, rank: int, attempt: int = 0, lost: Callable[[OSError], None] = lambda error: None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.lost = lost
        self.path, descriptor = _opened(folder, f"rank{rank}" + (f".attempt{attempt}" if attempt else ""))
        self._descriptor: int | None = descriptor
        self._owner = os.getpid()

    def write(self, record: str, **values: Any) -> None:
        # Processes that the job forks, such as data loader workers, inherit the file and do not speak for the rank.
        if self._descriptor is None or os.getpid() != self._owner:
            return
        line = json.dumps({"record": record, **values}, separators=(",", ":")) + "\n"
        data = line.encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._descriptor = None  # a full disk must not end the job that is being watched
            self.lost(error)

    def close(self) -> None:
        if self._descriptor is not None and os.getpid() == self._owner:
            os.close(self._descriptor)
        self._descriptor = None


def _opened(folder: Path, name: str) -> tuple[Path, int]:
    """A file that nobody else has, also not an earlier job of the same name."""
    own = f"{name}.{socket.gethostname()}-{os.getpid()}"
    for stem in chain((name, own), (f"{own}.{number}" for number in count(2))):
        with suppress(FileExistsError):
            path = folder / f"{stem}.jsonl"
            return path, os.open(path, _FLAGS, 0o644)
    raise AssertionError("there is always a next number")


class Unwritten:
    """In place of a :class:`RankFile` where nothing is to be written."""

    def write(self, record: str, **values: Any) -> None:
        pass

    def close(self) -> None:
        pass


def rank_files(folder: Path) -> list[Path]:
    """The files of all processes, in the order of the ranks and attempts that they claim."""
    found = []
    for path in folder.iterdir():
        if match := _NAME.fullmatch(path.name):
            found.append((int(match[1]), int(match[2] or 0), path.name, path))
    return [path for *_, path in sorted(found)]


def first_record(path: Path) -> dict[str, Any]:
    """The first record of a file, without reading the others; empty where that is cut off or cannot be read."""
    return _only(path, _HEAD, end=False)


def last_record(path: Path) -> dict[str, Any]:
    """The same of the last one."""
    return _only(path, _TAIL, end=True)


def _only(path: Path, most: int, *, end: bool) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most) if end else 0)
            record = json.loads(file.read(most).splitlines()[-1 if end else 0])
    except (OSError, ValueError, IndexError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def records(path: Path) -> Iterator[dict[str, Any]]:
    """What a rank wrote. Lines that are damaged or cut off are left out."""
    yield from filter(None, map(record_in, read(path, REPORT_BYTES).splitlines()))


def record_in(line: bytes) -> dict[str, Any] | None:
    """None for a line that is damaged, cut off or none of ours."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and "record" in record else None
