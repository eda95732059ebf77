"""The stacks that ``faulthandler`` writes: of a rank that cannot run Python any more, or that a signal ended.

They have files and rows only. Python cuts long names, and writes what is not ASCII as escapes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ...files.reading import read
from ...vocab.finding import Moment, Site
from .layers import Layers

_BYTES = 1_000_000
_MOST = 12
_THREAD = re.compile(r"(Current thread|Thread) 0x([0-9a-f]+)\b")
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
Frame = tuple[str, int, str]


@dataclass(slots=True)
class Dump:
    """``why`` is the first line. The frames of each thread are innermost first; ``current`` got a signal."""

    why: str = ""
    current: int = 0
    threads: dict[int, list[Frame]] = field(default_factory=dict)


def dump_of(path: Path) -> Dump | None:
    """The last dump in a file; None where there is none."""
    try:
        lines = read(path, _BYTES).decode(errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    return _parsed(lines) if lines else None


def _parsed(lines: Iterable[str]) -> Dump:
    dump, frames = Dump(), list[Frame]()
    for line in lines:
        if thread := _THREAD.match(line):
            frames = dump.threads.setdefault(number := int(thread[2], 16), [])
            dump.current = number if thread[1].startswith("Current") else dump.current
        elif frame := _FRAME.match(line):
            frames.append((_ESCAPE.sub(_character, frame[1]), int(frame[2]), frame[3]))
        elif line.startswith(("Fatal Python error", "Timeout (")):
            dump = Dump(line.strip())
    return dump


def _character(escape: re.Match[str]) -> str:
    return chr(int(next(filter(None, escape.groups())), 16) & 0xFFFF)


def own_frames(dump: Dump, thread: int, layers: Layers) -> list[Frame]:
    """Of the thread that trains, or of the one that got the signal, up to where this tool started the script."""
    frames = dump.threads.get(thread) or dump.threads.get(dump.current) or []
    start = next((index for index, each in enumerate(frames) if layers.starts(each[0], each[2])), len(frames))
    return frames[:start]


def place_of(frames: Iterable[Frame], layers: Layers) -> Moment | None:
    """Where the user's code stood. Libraries count only where there is none of it."""
    found = [(layers.of(file), Site(os.path.abspath(file), row)) for file, row, _ in frames]
    for wanted in (("user",), ("user", "library")):
        if own := [site for layer, site in found if layer in wanted]:
            return Moment(own[0], tuple(reversed(own[1 : _MOST + 1])))
    return None


def waits(frames: Iterable[Frame], layers: Layers) -> bool:
    """Has the user's code called something that communicates, and not come back yet?"""
    for file, _, _ in frames:
        if layers.of(file) == "user":
            return False
        if layers.communicates(file):
            return True
    return False
