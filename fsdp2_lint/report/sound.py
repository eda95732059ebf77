"""Whether a record of a rank holds what its readers ask it for: the file may be damaged, or another tool's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .codec import MOST_RANKS, fact_from_json, finding_from_json, number, site_from_json, text

Check = Callable[[Any], object]


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
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return False
    return True


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("is no time")
    return float(value)


def _yes(value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError("is neither true nor false")


def _each(read: Check) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise TypeError("is no list")
        for each in value:
            read(each)

    return check


def _ranks(value: Any) -> None:
    if not 0 < number(value) <= MOST_RANKS:
        raise ValueError("is no number of ranks")


def _word(value: Any) -> None:
    if value not in ("violated", "unknown", "upheld"):
        raise ValueError("is no verdict")


def _issued(value: Any) -> None:
    name, ranks, count = value
    text(name), _each(number)(ranks), number(count)


def _of_model(record: Any) -> None:
    if "model" in record:
        text(record["model"]), site_from_json(record["at"])


_WHOLE: Mapping[Any, Check] = {"finding": finding_from_json, "fact": fact_from_json, "verdict": _of_model}
_TOLD = {"at": site_from_json, "stack": _each(site_from_json), "by": text}
_PARTS: Mapping[Any, Mapping[str, Check]] = {
    "start": {"world_size": _ranks, "run": text, "version": number},
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
    "stall": {**_TOLD, "since": _seconds, "after": _seconds, "waits": _yes, "issued": _each(_issued)},
    "moved_on": {"time": _seconds},
}
