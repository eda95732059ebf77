"""Who is late, from what each rank has issued while all of them stood still."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.report import spans
from fsdp2_lint.report.codec import moment_as_json
from fsdp2_lint.report.hangs.stalls import Group, Stall, meetings, pauses, stalls, stands
from fsdp2_lint.vocab.finding import Moment
from tests.report.ranks import site

Counts = dict[str, tuple[tuple[int, ...], int]]


def stall(
    rank: int,
    counts: Counts,
    *,
    waits: bool = False,
    how: str = "",
    since: float = 0.0,
    until: float = inf,
    paired: bool = False,
) -> Stall:
    groups = {name: Group(ranks, count, paired) for name, (ranks, count) in counts.items()}
    return Stall(rank, since, until, 10.0, Moment(site(10 + rank)), "barrier()", waits, groups, how)


def world(count: int, ranks: int = 2) -> Counts:
    return {"world": (tuple(range(ranks)), count)}


def late(*found: Stall) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(each.late, each.waiting) for each in meetings(found)]


def test_the_counts_tell_wherever_the_others_wait() -> None:
    assert late(stall(0, world(36)), stall(1, world(35))) == [((1,), (0,))]
    assert late(stall(0, world(36), waits=True), stall(1, world(35))) == [((1,), (0,))]


@pytest.mark.parametrize(
    "found",
    [
        (stall(0, world(36)), stall(1, world(36))),  # all are busy
        (stall(0, world(36), waits=True), stall(1, world(36))),  # perhaps it waits for something else
        (stall(0, world(36)), stall(1, world(35), waits=True)),  # it waits for something else
        (stall(0, world(36)),),  # nobody knows of the other one
        (stall(0, world(36)), stall(1, world(35), since=50.0, until=55.0)),  # not for long enough
        (stall(0, world(36), until=60.0), stall(1, world(35), since=61.0)),  # not at one time
        (stall(0, world(36), paired=True), stall(1, world(35))),  # one has sent what the other has not received
        (stall(0, world(36), how="ended"), stall(1, world(35), how="ended")),  # nobody waits any more
        (stall(0, world(36)), stall(1, world(36), how="stopped")),  # nobody needs it
        (stall(0, world(36), waits=True), stall(1, world(36), how="held", waits=True)),  # it waits with the lock
    ],
)
def test_nobody_is_late(found: tuple[Stall, ...]) -> None:
    assert late(*found) == []


@pytest.mark.parametrize("how", ["stopped", "gone", "held"])
def test_a_rank_that_is_cut_off_keeps_those_waiting_who_wait_in_a_collective(how: str) -> None:
    assert late(stall(0, world(36), waits=True), stall(1, world(36), how=how)) == [((1,), (0,))]
    third = (stall(0, world(36, 3), waits=True), stall(1, world(36, 3), how=how), stall(2, world(35, 3)))
    assert late(*third) == [((2,), (0,))]  # there is somebody who is known to be late


def test_a_rank_that_is_gone_is_late_also_where_it_waited() -> None:
    assert late(stall(0, world(36), waits=True), stall(1, world(36), how="gone", waits=True)) == [((1,), (0,))]


def test_who_has_ended_comes_no_more() -> None:
    assert late(stall(0, world(36), waits=True), stall(1, world(35), how="ended")) == [((1,), (0,))]


def test_messages_and_a_rank_that_waits_in_one() -> None:
    found = (stall(0, world(36), waits=True, paired=True), stall(1, world(35)))
    assert late(*found) == [((1,), (0,))]


def test_only_the_end_of_a_chain_is_late() -> None:
    """Rank 0 waits for rank 1, and that one for rank 2, as on NCCL: all of them in their own code."""
    rows, columns = ((0, 1), (2, 3)), ((0, 2), (1, 2))
    first = stall(0, {"row": (rows[0], 5)})
    second = stall(1, {"row": (rows[0], 4), "column": (columns[1], 9)})
    third = stall(2, {"column": (columns[1], 8)})
    assert late(first, second, third) == [((2,), (1,))]


def test_each_waits_for_the_other() -> None:
    one = stall(0, {"a": ((0, 1), 5), "b": ((0, 1), 4)})
    other = stall(1, {"a": ((0, 1), 4), "b": ((0, 1), 5)})
    assert late(one, other) == []


def test_pauses_are_counted_and_told_once_for_all_groups() -> None:
    counts = [{"world": ((0, 1), count), "again": ((0, 1), count)} for count in (36, 35)]
    once = (stall(0, counts[0], until=31.0), stall(1, counts[1], until=31.2))
    (note,) = pauses(meetings(once))
    assert note == (
        "rank 1 kept rank 0 waiting for 31 s at /job/train.py:11, it stood at /job/train.py:10; it came in the end"
    )
    assert stalls(meetings(once)) == []
    twice = (*once, stall(0, counts[0], since=40.0, until=61.0), stall(1, counts[1], since=40.0, until=61.0))
    (note,) = pauses(meetings(twice))
    assert "waiting for up to 31 s, 2 times, at" in note


def test_who_is_thrown_out_of_a_wait_has_not_gone_on() -> None:
    met = meetings((stall(0, world(36), waits=True), stall(1, world(35), until=31.0)))
    assert pauses(met) == []
    assert {rank: fact.values["state"] for rank, fact in stalls(met)} == {0: "waits", 1: "away"}


def test_what_a_rank_says_of_itself_and_what_is_said_of_it_is_one_pause() -> None:
    """It was stopped, and found out when it was sent on."""
    found = (
        stall(0, world(36), waits=True, until=31.0),
        stall(1, world(35), until=31.0),
        stall(1, world(35), how="stopped", since=0.4, until=30.5),
    )
    assert len(pauses(meetings(found))) == 1


def test_many_ranks_are_met_quickly() -> None:
    """Steps, not seconds: each rank is looked at a few times, and not once for each other one."""
    ranks = 4096
    ahead, behind = world(36, ranks), world(35, ranks)
    found = [stall(rank, ahead, since=rank / 1e6) for rank in range(ranks - 1)]
    (met,) = meetings([*found, stall(ranks - 1, behind)])
    assert met.late == (ranks - 1,) and len(met.waiting) == ranks - 1


@given(st.lists(st.integers(0, 5000), unique=True, max_size=40).map(sorted))
def test_the_ranks_of_a_group_come_back(ranks: list[int]) -> None:
    assert spans.from_text(spans.as_text(ranks)) == tuple(ranks)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [(range(4096), "0-4095"), (range(3, 64, 8), "3-59/8"), ((0, 5), "0, 5"), ((0, 1, 7), "0-1, 7"), ((), "")],
)
def test_few_words_for_a_mesh(ranks: range, text: str) -> None:
    assert spans.as_text(ranks) == text


@pytest.mark.parametrize("text", ["x", "0-99999999", "0-4/0", None])
def test_what_is_no_group(text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        spans.from_text(text)


def test_ranks_that_are_killed_together_keep_nobody_waiting() -> None:
    """By their launcher, say. What they had told of themselves ends there, and is no pause."""
    own = {**moment_as_json(Moment(site(1))), "by": "barrier()", "after": 10.0}
    waiting = {"record": "stall", **own, "since": 0.0, "waits": True, "issued": [["world", "0-1", 36, False]]}
    away = {**waiting, "waits": False, "issued": [["world", "0-1", 35, False]]}
    gone = [{"record": "gone", **own, "time": time} for time in (50.0, 50.1)]
    mourned = {**away, "since": 50.1, "how": "gone"}
    first, second = stands(0, [waiting], gone[:1]), stands(1, [away], [gone[1], mourned])
    met = meetings([*first, *second])
    assert [(each.start, each.end, each.over) for each in met] == [(0.0, 50.0, False)] and pauses(met) == []
