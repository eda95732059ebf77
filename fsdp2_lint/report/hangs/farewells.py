"""Ranks that ended without a last word: what others have seen of it, and what the signal left behind."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...vocab.facts import in_words
from ...vocab.finding import NOWHERE, Site
from ..codec import site_from_json
from ..rank_file import records
from ..sound import is_sound
from .dumps import Dump, Frame, dump_of, own_frames, place_of
from .layers import layers_from_json

Record = Mapping[str, Any]


def seen_of(path: Path) -> Path:
    """The file with what a watcher saw of a rank, next to the rank's report. Most jobs have none."""
    return path.with_suffix(".seen")


def fatal_of(path: Path) -> Path:
    """The file that the interpreter writes its stacks to when a signal ends it."""
    return path.with_suffix(".fatal")


def seen(path: Path, own: Sequence[Record]) -> list[Record]:
    """What a watcher wrote down of the process that wrote the report at ``path``."""
    pid = own[0].get("pid") if own else None
    try:
        return [each for each in records(seen_of(path)) if is_sound(each) and each.get("pid") == pid]
    except (OSError, ValueError):
        return []


@dataclass(frozen=True, slots=True)
class Farewell:
    """A rank's process is gone. ``signal``: the first line that the interpreter wrote then, if it could.

    ``at`` is where the rank stood, as far as anybody knows, and ``time`` is 0 where nobody saw when it went.
    """

    rank: int
    at: Site | None
    time: float = 0.0
    signal: str = ""


def farewell(rank: int, path: Path, own: Sequence[Record], watched: Iterable[Record]) -> Farewell | None:
    """How a rank went, if it went without a last word."""
    gone = next((each for each in watched if each["record"] == "gone"), None)
    dump = dump_of(fatal_of(path))
    if any(each["record"] == "end" for each in own) or (gone is None and dump is None):
        return None
    at = _place(dump, own) if dump is not None else None
    if at is None and gone is not None and (stood := site_from_json(gone["at"])).path != NOWHERE.path:
        at = stood
    return Farewell(rank, at, gone["time"] if gone is not None else 0.0, dump.why if dump is not None else "")


def _place(dump: Dump, own: Iterable[Record]) -> Site | None:
    told = {each["record"]: each for each in own if each["record"] in ("layers", "trains")}
    if "layers" not in told:
        return None
    layers = layers_from_json(told["layers"]["layers"])
    moment = place_of(_frames(dump, told, layers), layers)
    return moment.at if moment is not None else None


def _frames(dump: Dump, told: Mapping[str, Record], layers: Any) -> list[Frame]:
    return own_frames(dump, told["trains"]["thread"] if "trains" in told else 0, layers)


def in_notes(gone: Iterable[Farewell], failed: Iterable[float]) -> list[str]:
    """Who went first, and all whom a signal ended. Whom the launcher ended after another one failed is not said."""
    several = sorted(gone, key=lambda each: each.time)
    watched = [each for each in several if each.time]
    first = watched[0] if watched and not any(ended < watched[0].time for ended in failed) else None
    notes = [_note(each, alone=len(several) == 1) for each in several if each.signal or each is first]
    return list(dict.fromkeys(notes))


def _note(gone: Farewell, *, alone: bool) -> str:
    where = f" at {gone.at}" if gone.at is not None else ""
    if gone.signal:
        return f"{in_words((gone.rank,))} was ended by a signal{where}: {gone.signal}"
    when = time.strftime("%H:%M:%S", time.localtime(gone.time))
    stood = f", and last stood{where}" if where else ""
    return f"{in_words((gone.rank,))} was gone {'' if alone else 'first, '}at {when}{stood}"
