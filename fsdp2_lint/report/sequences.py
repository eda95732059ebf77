"""The collectives that each rank issued, as its files have them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files.reading import REPORT_BYTES, read
from ..vocab.finding import Moment
from .codec import moment_from_json

RECORD = struct.Struct("<QIIII")  # how manieth of the job (from 1), group, how manieth of the group, what, where
SLOTS = 16384


@dataclass(frozen=True, slots=True)
class Issued:
    """One collective: what it was, what for, and from where. ``by`` is what the user's code called.

    ``order`` counts what the rank issued in all groups; 0 is that of a thread in the background.
    """

    kind: str
    size: str
    names: tuple[str, ...]
    when: Moment
    by: str
    order: int = 0

    @property
    def words(self) -> str:
        return f"{self.kind} of {self.used_for}" if self.names else self.kind

    @property
    def used_for(self) -> str:
        """The module that all these parameters lie in, or the first of them."""
        shared = os.path.commonprefix([name.split(".")[:-1] for name in self.names])
        if shared and len(self.names) > 1:
            return ".".join(shared)
        return f"{self.names[0]} and {len(self.names) - 1} more" if len(self.names) > 1 else self.names[0]

    @property
    def text(self) -> str:
        """What all ranks must have in common."""
        return "|".join((self.kind, self.size, ",".join(self.names)))


@dataclass(slots=True)
class Sequence:
    """What one rank issued in one group, by position. ``ended``: it will never issue any more."""

    rank: int
    group: str
    ranks: tuple[int, ...]
    ended: bool
    issued: dict[int, Issued] = field(default_factory=dict)


def ring_of(path: Path) -> Path:
    """The file with a rank's collectives, next to its report."""
    return path.with_suffix(".ring")


def sequences(rank: int, path: Path, own: Iterable[Mapping[str, Any]]) -> list[Sequence]:
    """What a rank issued, group by group; empty where its files do not say so."""
    try:
        data = read(ring_of(path), REPORT_BYTES)
    except OSError:
        return []
    told: dict[str, dict[int, Mapping[str, Any]]] = {"group": {}, "collective": {}, "place": {}}
    watched_on, code = False, None
    for record in own:
        if record["record"] in told:
            told[record["record"]][record["id"]] = record
        elif record["record"] == "closed":
            watched_on = record["why"] == "end"
        elif record["record"] == "end":
            code = record["code"]
        elif record["record"] == "cut":
            code = None
            break
    places = {key: (moment_from_json(each), str(each["by"])) for key, each in told["place"].items()}
    aside = {key for key, each in told["place"].items() if each["aside"]}
    found: dict[int, Sequence] = {}
    whole = len(data) // RECORD.size * RECORD.size
    for index, group, number, kind, place in RECORD.iter_unpack(data[:whole]):
        if not index or group not in told["group"] or kind not in told["collective"] or place not in places:
            continue
        if group not in found:
            named = told["group"][group]
            found[group] = Sequence(rank, named["name"], tuple(named["ranks"]), watched_on and code == 0)
        what = told["collective"][kind]
        found[group].issued[number] = Issued(
            what["kind"], what["size"], tuple(what["names"]), *places[place], 0 if place in aside else index
        )
    return list(found.values())
