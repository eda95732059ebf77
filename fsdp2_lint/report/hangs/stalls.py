"""Ranks that stand still, and who of them is late.

Who is late follows from what each rank has issued in the groups that they share: whoever has issued fewer collectives
than another is behind, wherever the others wait. With NCCL that is seldom inside of ``torch.distributed``. Of a rank
that runs no Python any more somebody else has written down what it had issued last.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ...vocab.facts import Fact, in_words
from ...vocab.finding import Moment
from .. import spans
from ..codec import moment_from_json

CUT_OFF = ("stopped", "gone", "held")  # it may have issued more than it could say


@dataclass(frozen=True, slots=True)
class Group:
    """``count``: collectives that one rank has issued in it. ``paired``: it is also used between two ranks alone."""

    ranks: tuple[int, ...]
    count: int
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch of time in which a rank issued no collective, and all the time waited in one, or did not.

    ``how`` is empty for a rank that said so itself. Else it was ``stopped`` by a signal, is ``gone``, runs no Python
    since something holds (``held``) its interpreter's lock, or has ``ended`` its script. ``lost``: it did not go on in
    the end, but was cut off so.
    """

    rank: int
    since: float
    until: float
    after: float
    when: Moment
    by: str
    waits: bool
    groups: Mapping[str, Group]
    how: str = ""
    lost: bool = False


def stands(rank: int, own: Iterable[Mapping[str, Any]], watched: Iterable[Mapping[str, Any]]) -> list[Stall]:
    """When and where a rank stood still, from what it wrote down itself, and what a watcher did."""
    watched = list(watched)
    gone = min((record["time"] for record in watched if record["record"] == "gone"), default=inf)
    told = [replace(each, until=gone, lost=True) if each.until > gone else each for each in _told(rank, own)]
    return [*told, *_told(rank, watched)]


def _told(rank: int, own: Iterable[Mapping[str, Any]]) -> list[Stall]:
    found: list[Stall] = []
    told: Mapping[str, Any] | None = None
    for record in own:
        if record["record"] == "stall":
            found += [] if told is None else [replace(_stall(rank, told, record["since"]), lost=True)]
            told = record
        elif record["record"] == "moved_on" and told is not None:
            found.append(_stall(rank, told, record["time"]))
            told = None
    return found if told is None else [*found, _stall(rank, told, inf)]


def _stall(rank: int, record: Mapping[str, Any], until: float) -> Stall:
    when = moment_from_json(record)
    groups = {name: Group(spans.from_text(ranks), count, paired) for name, ranks, count, paired in record["issued"]}
    how = record.get("how", "")
    return Stall(rank, record["since"], until, record["after"], when, record["by"], record["waits"], groups, how)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A time in which all ranks of a group stood still. ``late`` are behind, and the ``waiting`` cannot go on so."""

    group: str
    ranks: tuple[int, ...]
    stalls: Mapping[int, Stall]
    start: float
    end: float
    late: tuple[int, ...]
    waiting: tuple[int, ...]

    @property
    def over(self) -> bool:
        """Did they all go on? Who was thrown out of a collective did not."""
        concerned = [self.stalls[rank] for rank in (*self.late, *self.waiting)]
        return all(each.until < inf and not each.lost for each in concerned)


def meetings(found: Iterable[Stall]) -> list[Meeting]:
    """Who kept whom waiting, and when. A rank that is behind since it waits for a third one keeps nobody waiting."""
    by_group: dict[tuple[str, tuple[int, ...]], list[Stall]] = {}
    for each in found:
        for name, group in each.groups.items():
            by_group.setdefault((name, group.ranks), []).append(each)
    met = [
        meeting
        for (name, ranks), several in by_group.items()
        if len(ranks) > 1
        for meeting in _joined(_meetings(name, ranks, several))
    ]
    waits: dict[int, list[Meeting]] = {}
    for meeting in met:
        for rank in meeting.waiting:
            waits.setdefault(rank, []).append(meeting)
    return [first for meeting in met if (first := _without_links(meeting, waits)) is not None]


def _without_links(meeting: Meeting, waits: Mapping[int, Several[Meeting]]) -> Meeting | None:
    def is_kept(rank: int) -> bool:
        others = (each for each in waits.get(rank, ()) if each.start < meeting.end and meeting.start < each.end)
        return any(each.group != meeting.group or each.ranks != meeting.ranks for each in others)

    late = tuple(rank for rank in meeting.late if not is_kept(rank))
    return replace(meeting, late=late) if late else None


def _meetings(name: str, ranks: tuple[int, ...], several: Iterable[Stall]) -> Iterator[Meeting]:
    active: dict[int, Stall] = {}
    ends: list[tuple[float, int, float]] = []
    for stall in sorted(several, key=lambda each: each.since):
        while ends and ends[0][0] <= stall.since:
            _, rank, since = heapq.heappop(ends)
            if rank in active and active[rank].since == since:
                del active[rank]
        active[stall.rank] = stall
        heapq.heappush(ends, (stall.until, stall.rank, stall.since))
        if len(active) == len(ranks) and (found := _met(name, ranks, dict(active), stall.since)) is not None:
            yield found


def _met(name: str, ranks: tuple[int, ...], stalls: dict[int, Stall], start: float) -> Meeting | None:
    end = min(each.until for each in stalls.values())
    if end - start < min(each.after for each in stalls.values()):
        return None
    own = {rank: each.groups[name] for rank, each in stalls.items()}
    late = _late(stalls, own)
    if not late:
        return None
    least = min(own[rank].count for rank in late)
    waiting = [
        rank
        for rank, each in stalls.items()
        if rank not in late and not each.how and (own[rank].count > least or each.waits)
    ]
    return Meeting(name, ranks, stalls, start, end, late, tuple(sorted(waiting))) if waiting else None


def _late(stalls: Mapping[int, Stall], own: Mapping[int, Group]) -> tuple[int, ...]:
    """The ranks that have issued less than others, or that are cut off while others wait inside of a collective."""
    waiting = [own[rank].count for rank, each in stalls.items() if each.waits and each.how not in CUT_OFF]
    # Messages between two ranks count as well, and say nothing about who is behind.
    paired = any(each.paired for each in own.values())
    top = max(waiting, default=0) if paired else max(each.count for each in own.values())
    late = [rank for rank, each in stalls.items() if own[rank].count < top and not _is_kept(each)]
    if not any(stalls[rank].how not in CUT_OFF for rank in late) and waiting:
        late = [rank for rank, each in stalls.items() if each.how in CUT_OFF and not _is_kept(each)]
    return tuple(sorted(late))


def _is_kept(stall: Stall) -> bool:
    """Does it wait for somebody else? Who is stopped or gone in there keeps the others waiting all the same."""
    return stall.waits and stall.how not in ("stopped", "gone")


def _joined(found: Iterable[Meeting]) -> Iterator[Meeting]:
    """One for one stretch of time: a rank that went on may have told of it itself, besides who watched it."""
    last: Meeting | None = None
    for each in found:
        if last is not None and each.late == last.late and each.start < last.end:
            each = replace(each, start=last.start, end=max(each.end, last.end))
        elif last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def stalls(met: Iterable[Meeting]) -> list[tuple[int, Fact]]:
    """For each group whose ranks stand still for good, what each of them did."""
    last = {(each.group, each.ranks): each for each in met if not each.over}
    return [said for each in last.values() for said in _facts(each)]


def _facts(meeting: Meeting) -> Iterator[tuple[int, Fact]]:
    for rank, each in meeting.stalls.items():
        state = "away" if rank in meeting.late else "waits" if rank in meeting.waiting else "busy"
        traits = {"by": each.by, "after": f"{each.after:g}", "how": each.how, "inside": "yes" if each.waits else "no"}
        places = {str(number): site for number, site in enumerate(reversed(each.when.stack))}
        yield rank, Fact("stall", f"group {meeting.group}", each.when, meeting.ranks, {"state": state}, places, traits)


def pauses(met: Iterable[Meeting]) -> list[str]:
    """Who kept whom waiting for a while, and came in the end."""
    times: dict[str, list[tuple[float, float]]] = {}
    for each in sorted((each for each in met if each.over), key=lambda one: one.start):
        kept = times.setdefault(_pause(each), [])
        if not kept or each.start >= kept[-1][1]:  # else it is the same one, in another group
            kept.append((each.start, each.end))
    return [_counted(text, kept) for text, kept in times.items()]


def _pause(meeting: Meeting) -> str:
    away, waiting = (meeting.stalls[ranks[0]].when.at for ranks in (meeting.late, meeting.waiting))
    stood = "it stood" if len(meeting.waiting) == 1 else "they stood"
    return (
        f"{in_words(meeting.late)} kept {in_words(meeting.waiting)} waiting for {{}} at {away}, {stood} at {waiting}; "
        + ("it" if len(meeting.late) == 1 else "they")
        + " came in the end"
    )


def _counted(text: str, kept: Several[tuple[float, float]]) -> str:
    longest = f"{max(end - start for start, end in kept):.0f} s"
    head, tail = text.split("{}", 1)
    return head + (longest if len(kept) == 1 else f"up to {longest}, {len(kept)} times,") + tail


def all_wait(found: Iterable[Stall], world_size: int) -> list[Stall]:
    """The last stall of each rank, if all of them wait for good, and no rank has issued more than another.

    Then nobody is late, and they will never meet.
    """
    last = {each.rank: each for each in found}
    waiting = [each for each in last.values() if each.waits and each.until == inf and not each.how]
    counts: dict[tuple[str, tuple[int, ...]], set[int]] = {}
    for each in waiting:
        for name, group in each.groups.items():
            counts.setdefault((name, group.ranks), set()).add(group.count)
    agree = all(len(different) == 1 for different in counts.values())
    return waiting if len(waiting) == world_size and agree else []
