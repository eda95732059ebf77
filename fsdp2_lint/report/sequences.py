"""The collectives that each rank issued, as its files have them."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..files.reading import REPORT_BYTES, read
from ..vocab.finding import Moment
from .codec import moment_as_json, moment_from_json
from .halves import UNTOLD, halves, written
from .lines import Lines


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
    """What one rank issued in one group, by position, as far back as is known. ``ended``: it will never issue any more.

    ``came`` are all places from which the rank issued any in the whole job.
    """

    rank: int
    group: str
    ranks: tuple[int, ...]
    ended: bool
    came: frozenset[tuple[str, int]]
    issued: dict[int, Issued] = field(default_factory=dict)


_OWN = ("start", "end")  # records that no two ranks have in common
_NOT_TOLD: Mapping[str, Any] = {"kind": "", "size": "", "names": ()}


class Shared:
    """The sequences of many ranks. Those that wrote the same hold one and the same :attr:`Sequence.issued`."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._known: dict[object, list[Sequence]] = {}

    def sequences(self, rank: int, path: Path, rare: Iterable[Mapping[str, Any]]) -> list[Sequence]:
        """As :func:`sequences`, of a file that was read, and whose records of the rare kinds are these."""
        ends = tuple([(each.get("watch"), each.get("code")) for each in rare if each["record"] in _OWN])
        try:
            data = read(ring_of(path), REPORT_BYTES)
        except OSError:
            return []
        key = (data, self._lines.of_collectives(path), ends)
        if key not in self._known:
            records = (self._lines[number].record for number in self._lines.of[path])
            self._known[key] = sequences(rank, path, records)
        return [replace(each, rank=rank) for each in self._known[key]]


def ring_of(path: Path) -> Path:
    """The file with a rank's collectives, next to its report."""
    return path.with_suffix(".ring")


def sequences(rank: int, path: Path, own: Iterable[Mapping[str, Any]], newest: int = 0) -> list[Sequence]:
    """What a rank issued, group by group: its ``newest`` collectives, or all with 0; empty where no file says it."""
    try:
        collectives = _issued(read(ring_of(path), REPORT_BYTES))[-newest:]
    except OSError:
        return []
    told: dict[str, dict[int, Mapping[str, Any]]] = {"group": {}, "collective": {}, "place": {}}
    watched_on, code = False, None
    for record in own:
        if record["record"] == "start":
            watched_on = record.get("watch", False)
        elif record["record"] in told:
            told[record["record"]][record["id"]] = record
        elif record["record"] == "closed":
            watched_on |= record["why"] == "end"
        elif record["record"] == "end":
            code = record["code"]
        elif record["record"] == "cut":
            code = None
            break
    places = {key: (moment_from_json(each), str(each["by"])) for key, each in told["place"].items()}
    came = frozenset((when.at.path, when.at.row) for when, _ in places.values())
    aside = {key for key, each in told["place"].items() if each["aside"]}
    found: dict[int, Sequence] = {}
    for group, number, kind, place, index in collectives:
        if group not in told["group"] or place not in places:
            continue
        if kind != UNTOLD and kind not in told["collective"]:
            continue
        if group not in found:
            named = told["group"][group]
            found[group] = Sequence(rank, named["name"], tuple(named["ranks"]), watched_on and code == 0, came)
        what = told["collective"].get(kind, _NOT_TOLD)
        found[group].issued[number] = Issued(
            what["kind"], what["size"], tuple(what["names"]), *places[place], 0 if place in aside else index
        )
    return list(found.values())


def _issued(data: bytes) -> list[tuple[int, int, int, int, int]]:
    """Of each collective: its group, its position there, what it is, its place, and its position in the job, from 1."""
    found = []
    for half in halves(data):
        counts = {group: state.issued for group, state in enumerate(half.states)}
        for index, (group, kind, place, _) in enumerate(written(data[half.at : half.end]), half.total + 1):
            number = counts[group] = counts.get(group, 0) + 1
            found.append((group, number - 1, kind, place, index))
    return found


# -- what a rank issued, as a text that goes to another machine
def sequence_as_text(said: Sequence) -> str:
    """For another machine; each place and each kind stands in it once."""
    kinds: dict[tuple[str, str, tuple[str, ...]], int] = {}
    places: dict[tuple[Moment, str], int] = {}
    issued = [
        (
            number,
            kinds.setdefault((each.kind, each.size, each.names), len(kinds)),
            places.setdefault((each.when, each.by), len(places)),
            each.order,
        )
        for number, each in said.issued.items()
    ]
    values = {
        "rank": said.rank,
        "group": said.group,
        "ranks": said.ranks,
        "ended": said.ended,
        "came": sorted(said.came),
        "kinds": list(kinds),
        "places": [{**moment_as_json(when), "by": by} for when, by in places],
        "issued": issued,
    }
    return base64.b85encode(zlib.compress(json.dumps(values).encode())).decode()


def sequence_from_text(told: str) -> Sequence:
    """ValueError, LookupError or TypeError for anything else."""
    values = json.loads(zlib.decompress(base64.b85decode(told)))
    kinds = [(kind, size, tuple(names)) for kind, size, names in values["kinds"]]
    places = [(moment_from_json(each), str(each["by"])) for each in values["places"]]
    came = frozenset((str(path), int(row)) for path, row in values["came"])
    said = Sequence(values["rank"], values["group"], tuple(values["ranks"]), bool(values["ended"]), came)
    for number, kind, place, order in values["issued"]:
        (what, size, names), (when, by) = kinds[kind], places[place]
        said.issued[number] = Issued(what, size, names, when, by, order)
    return said
