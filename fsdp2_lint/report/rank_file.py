"""One rank's report: a line of JSON per record, written at once.

``os.write`` to a file that was opened for appending needs no flush and no exit handler, so what
was recorded survives an abort in C++ and SIGKILL. A line that was cut off is the last one, and
readers leave it out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..files.reading import REPORT_BYTES, read

VERSION = 1
_NAME = re.compile(r"rank(\d+)(?:\.attempt(\d+))?\.jsonl")


class RankFile:
    """The writer. ``attempt`` counts the restarts of an elastic job."""

    def __init__(self, folder: Path, rank: int, attempt: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if not attempt:  # what an earlier job left
            for other, number, path in rank_files(folder):
                if other == rank and number:
                    path.unlink(missing_ok=True)
        suffix = f".attempt{attempt}" if attempt else ""
        self.path = folder / f"rank{rank}{suffix}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC  # a new job, not the rest of an old one
        self._descriptor: int | None = os.open(self.path, flags, 0o644)
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
        except OSError:
            self._descriptor = None  # a full disk must not end the job that is being watched

    def close(self) -> None:
        if self._descriptor is not None and os.getpid() == self._owner:
            os.close(self._descriptor)
        self._descriptor = None


class Unwritten:
    """In place of a :class:`RankFile` where nothing is to be written."""

    def write(self, record: str, **values: Any) -> None:
        pass

    def close(self) -> None:
        pass


def rank_files(folder: Path) -> list[tuple[int, int, Path]]:
    """(rank, attempt, path) for every rank's file, in that order."""
    found = []
    for path in folder.iterdir():
        if match := _NAME.fullmatch(path.name):
            found.append((int(match[1]), int(match[2] or 0), path))
    return sorted(found)


def ended(folder: Path, ranks: Iterable[int]) -> bool:
    """Have all these ranks written their last record?"""
    last = {rank: path for rank, _, path in rank_files(folder)}  # the last attempt counts
    return all(rank in last and any(record["record"] == "end" for record in records(last[rank])) for rank in ranks)


def records(path: Path) -> Iterator[dict[str, Any]]:
    """What a rank wrote. Lines that are damaged or cut off are left out."""
    for line in read(path, REPORT_BYTES).splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and "record" in record:
            yield record
