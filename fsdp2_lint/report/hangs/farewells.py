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

    ``at`` is where the rank stood, as far as anybody knows, and ``time`` is 0 where nobody saw when it went. At
    ``alive`` it was last seen to be there.
    """

    rank: int
    at: Site | None
    time: float = 0.0
    alive: float = 0.0
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
    when, alive = (gone["time"], gone.get("alive", 0.0)) if gone is not None else (0.0, 0.0)
    return Farewell(rank, at, when, alive, dump.why if dump is not None else "")


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
    if watched and any(ended < watched[0].time for ended in failed):
        watched = []
    first = [each for each in watched if each.alive < watched[0].time]  # itself, and who may have gone before it
    notes = [_signalled(each) for each in several if each.signal]
    if first and not any(each.signal for each in first):
        notes.append(_went(first, alone=len(several) == 1))
    return list(dict.fromkeys(notes))


def _signalled(gone: Farewell) -> str:
    return f"{in_words((gone.rank,))} was ended by a signal{_at([gone])}: {gone.signal}"


def _went(gone: Sequence[Farewell], *, alone: bool) -> str:
    """One was gone first, or several when somebody looked again."""
    ranks = in_words(tuple(each.rank for each in gone))
    when = time.strftime("%H:%M:%S", time.localtime(gone[0].time))
    stood = f", and last stood{where}" if (where := _at(gone)) else ""
    if len(gone) == 1:
        return f"{ranks} was gone {'' if alone else 'first, '}at {when}{stood}"
    return f"{ranks} were gone at {when}{stood}: which of them went first was not seen"


def _at(gone: Sequence[Farewell]) -> str:
    """Where all of them stood."""
    (at, *others) = {each.at for each in gone}
    return f" at {at}" if at is not None and not others else ""
