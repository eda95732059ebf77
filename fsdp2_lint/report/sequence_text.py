"""What a rank issued, as a text that goes to another machine."""

from __future__ import annotations

import base64
import json
import zlib

from ..vocab.finding import Moment
from .codec import moment_as_json, moment_from_json
from .sequences import Issued, Sequence


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
