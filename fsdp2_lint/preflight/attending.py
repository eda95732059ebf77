"""The end of a process of a rehearsal: also of one that cannot tell how it ended, or that does not come to an end."""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import re
import signal
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..report.hangs.layers import Layers
from ..report.rank_file import last_record
from .part import Part

_PACKAGE = Path(__file__).parents[1]
_FRAME = re.compile(r'  File "(?P<path>.+)", line (?P<row>\d+) in ')
_LOOK = 0.5  # seconds between two looks at a report
_LAST_WORDS = 5.0  # seconds in which a process that stands still writes where that is
_ASKED = getattr(signal, "SIGUSR2", None)
_kept: list[Any] = []  # faulthandler writes to the descriptor, and closes nothing


def leave_last_words(part: Part) -> None:
    """In the process itself: a crash of C code, and a process that is asked, write where the script stands."""
    file = _last_words(part).open("w")
    _kept.append(file)
    faulthandler.enable(file, all_threads=False)
    if _ASKED is not None:
        faulthandler.register(_ASKED, file, all_threads=False)


def attend(process: Any, part: Part) -> None:
    """Until the process is over. What it cannot say itself is written into its report."""
    report = part.folder / f"rank{part.place.rank}.jsonl"
    size, since = -1, time.monotonic()
    while process.exitcode is None:
        process.join(_LOOK)
        now = report.stat().st_size if report.exists() else -1
        if now != size or now < 0:  # before there is a report, torch is imported
            size, since = now, time.monotonic()
        elif part.asked.patience and time.monotonic() - since > part.asked.patience and process.exitcode is None:
            _give_up(process, part, report)
            return
    if last_record(report).get("record") != "end":
        _stopped(part, report, _ended(process.exitcode))


def _give_up(process: Any, part: Part, report: Path) -> None:
    if _ASKED is not None:
        os.kill(process.pid, _ASKED)
        until = time.monotonic() + _LAST_WORDS
        while not _place(part) and time.monotonic() < until:
            time.sleep(0.05)
    process.kill()
    process.join()
    _stopped(part, report, f"nothing that a rehearsal looks at has happened for {part.asked.patience:g} s")


def _ended(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}, without coming to the end of the script"


def _stopped(part: Part, report: Path, why: str) -> None:
    """As the process itself would have written it. It is gone, so nobody else writes to the file."""
    if not report.exists():
        return  # that there is none is said
    line = json.dumps({"record": "stopped", "why": why, **_place(part)})
    with report.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")  # its last line may be cut off


def _place(part: Part) -> dict[str, Any]:
    """The innermost line that is the user's, or else that of a library."""
    try:
        text = _last_words(part).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    frames = [(found["path"], int(found["row"])) for found in _FRAME.finditer(text)]
    layers = _layers()
    for wanted in ("user", "library"):
        for path, row in frames:
            if layers.of(path) == wanted:
                return {"path": path, "row": row}
    return {}


def _layers() -> Layers:
    """Without an import of torch, which this process does not need."""
    spec = importlib.util.find_spec("torch")
    torch = spec.submodule_search_locations[0] if spec is not None and spec.submodule_search_locations else ""
    standard = {os.path.realpath(path) for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))}
    return Layers(torch or os.devnull, (str(_PACKAGE), str(_PACKAGE.parent / "rules")), tuple(standard))


def _last_words(part: Part) -> Path:
    return part.sent / f"rank{part.place.rank}.stack"
