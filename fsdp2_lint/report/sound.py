"""Whether a record of a rank holds what its readers ask it for: the file may be damaged, or another tool's.

Of findings and facts, their readers say so themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import spans
from .codec import number, site_from_json, text
from .hangs.layers import layers_from_json

Check = Callable[[Any], object]
UNSOUND = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading a record raises that does not hold what it should."""


def is_sound(record: Mapping[str, Any]) -> bool:
    """Also a record of a kind that this version does not know: nobody asks it anything."""
    try:
        if (whole := _WHOLE.get(record["record"])) is not None:
            whole(record)
        for name, read in _PARTS.get(record["record"], {}).items():
            if name.endswith("?"):
                if (name := name[:-1]) in record:
                    read(record[name])
            else:
                read(record[name])
    except UNSOUND:
        return False
    return True


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("is not a time")
    return float(value)


def _yes(value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError("is neither true nor false")


def _each(read: Check) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise TypeError("is not a list")
        for each in value:
            read(each)

    return check


def _ranks(value: Any) -> None:
    if not 0 < number(value) <= spans.MOST_RANKS:
        raise ValueError("is not a number of ranks")


def _word(value: Any) -> None:
    if value not in ("violated", "unknown", "upheld"):
        raise ValueError("is not a verdict")


def _issued(value: Any) -> None:
    name, ranks, count, paired = value
    text(name), spans.from_text(ranks), number(count)
    _yes(paired)


def _said(value: Any) -> None:
    code, path, row = value
    text(code), text(path), number(row)


def _of_model(record: Any) -> None:
    if "model" in record:
        text(record["model"]), site_from_json(record["at"])


_WHOLE: Mapping[Any, Check] = {"verdict": _of_model}
_TOLD = {"at": site_from_json, "stack": _each(site_from_json), "by": text}
_STANDS = {**_TOLD, "since": _seconds, "waits": _yes, "issued": _each(_issued)}
_PARTS: Mapping[Any, Mapping[str, Check]] = {
    "fact": {"of?": number},
    "start": {
        "world_size": _ranks,
        "rank": number,
        "run": text,
        "version": number,
        "attempt?": number,
        "time?": _seconds,
        "launch?": text,
        "watch?": _yes,
        **dict.fromkeys(("host?", "agent?", "script?", "folder?", "commit?"), text),
        "arguments?": _each(text),
    },
    "files": {"paths": _each(text)},
    "joined": {"rank": number, "world_size": _ranks, "token": text},
    "verdict": {"code": text, "word": _word, "reasons": _each(text), "judged": _each(site_from_json)},
    "crash": {"error": text, "code?": text, "why?": text, "fix?": text},
    "step": {"steps": number},
    "closed": {"steps": number, "why": text},
    "end": {"code": number, "time?": _seconds},
    "missing": {"what": text, "codes": _each(text)},
    "not_compared": {"kind": text},
    "defect": {"where": text, "error": text},
    "group": {"id": number, "name": text, "ranks": _each(number)},
    "collective": {"id": number, "kind": text, "size": text, "names": _each(text)},
    "place": {"id": number, **_TOLD, "aside": _yes},
    "stall": {**_STANDS, "after": _seconds, "how?": text},
    "moved_on": {"time": _seconds},
    "gone": {**_TOLD, "time": _seconds, "alive?": _seconds},
    "layers": {"layers": layers_from_json},
    "trains": {"thread": int},
    "unwatched": {"why": text},
    "said": {"key": _said},
    "beat": {**_STANDS, "rank": number, "pid": number, "born": text, "thread": int, "time": _seconds, "state": text},
}
