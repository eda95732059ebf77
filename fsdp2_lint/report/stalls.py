"""Ranks that stand still, and what the others do meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

from ..vocab.facts import Fact
from ..vocab.finding import Moment
from .codec import moment_from_json


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch of time in which a rank issued no collective, and all the time waited in one, or did not.

    ``groups`` has the ranks of each group and how many collectives this one had issued there.
    """

    rank: int
    since: float
    until: float
    after: float
    when: Moment
    by: str
    waits: bool
    groups: Mapping[str, tuple[tuple[int, ...], int]]


def stands(rank: int, own: Iterable[Mapping[str, Any]]) -> list[Stall]:
    """When and where a rank stood still, from its report."""
    found: list[Stall] = []
    told: Mapping[str, Any] | None = None
    for record in own:
        if record["record"] == "stall":
            told = record
        elif record["record"] == "moved_on" and told is not None:
            found.append(_stall(rank, told, record["time"]))
            told = None
    return found if told is None else [*found, _stall(rank, told, inf)]


def _stall(rank: int, record: Mapping[str, Any], until: float) -> Stall:
    when = moment_from_json(record)
    groups = {name: (tuple(ranks), count) for name, ranks, count in record["issued"]}
    return Stall(rank, record["since"], until, record["after"], when, record["by"], record["waits"], groups)


def stalls(found: Iterable[Stall]) -> list[tuple[int, Fact]]:
    """For each group of which all ranks stood still at one time, what each of them did."""
    by_group: dict[tuple[str, tuple[int, ...]], dict[int, list[Stall]]] = {}
    for each in found:
        for name, (ranks, _) in each.groups.items():
            by_group.setdefault((name, ranks), {}).setdefault(each.rank, []).append(each)
    said: list[tuple[int, Fact]] = []
    for (name, ranks), by_rank in by_group.items():
        if len(ranks) > 1 and set(by_rank) == set(ranks):
            said.extend(_first(name, ranks, list(by_rank.values())))
    return said


def all_wait(found: Iterable[Stall], world_size: int) -> list[Stall]:
    """The last stall of each rank, if all of them wait for good, and no rank has issued more than another.

    Then nobody is late, and they will never meet.
    """
    last = {each.rank: each for each in found}
    waiting = [each for each in last.values() if each.waits and each.until == inf]
    counts: dict[tuple[str, tuple[int, ...]], set[int]] = {}
    for each in waiting:
        for name, (ranks, count) in each.groups.items():
            counts.setdefault((name, ranks), set()).add(count)
    agree = all(len(different) == 1 for different in counts.values())
    return waiting if len(waiting) == world_size and agree else []


def _first(name: str, ranks: tuple[int, ...], of_ranks: Several[Several[Stall]]) -> Iterator[tuple[int, Fact]]:
    for together in _at_one_time(of_ranks):
        waiting = [each.groups[name][1] for each in together if each.waits]
        away = [each.groups[name][1] for each in together if not each.waits]
        if waiting and away and max(waiting) > min(away):
            over = all(each.until < inf for each in together if not each.waits)
            for each in together:
                # Groups that only count what two ranks send each other say nothing of who is behind.
                behind = not each.waits and each.groups[name][1] < max(waiting)
                state = "waits" if each.waits else "away" if behind else "busy"
                traits = {"by": each.by, "after": f"{each.after:g}", "over": "yes" if over else "no"}
                places = {str(number): site for number, site in enumerate(reversed(each.when.stack))}
                yield each.rank, Fact("stall", f"group {name}", each.when, ranks, {"state": state}, places, traits)
            return


def _at_one_time(of_ranks: Several[Several[Stall]]) -> Iterator[tuple[Stall, ...]]:
    """Stalls, one of each rank, that have at least the patience in common. A job has few of them."""
    for together in (
        product(*(stalls[-3:] for stalls in of_ranks))
        if len(of_ranks) <= 8
        else [tuple(stalls[-1] for stalls in of_ranks)]
    ):
        start, end = max(each.since for each in together), min(each.until for each in together)
        if end - start >= together[0].after:
            yield together
