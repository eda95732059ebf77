"""Where the sequences of ranks part, and what the source says about the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.report.branches import guard, loop
from fsdp2_lint.report.execution_order import standstill, turns
from fsdp2_lint.report.hangs.stalls import Group, Stall
from fsdp2_lint.report.sequences import Issued, Sequence
from fsdp2_lint.vocab.finding import Moment, Site

SOURCE = """\
def main(rank, loader):
    for batch in loader:
        model(batch)
    if rank == 0:
        save(model)
    elif verbose:
        show(model)
    barrier()


def save(model):
    if not ready:
        return
    gather(model)


def validate(rank, loader):
    for batch in loader:
        model(batch)
        if rank == 0:
            model(probe)
"""
IN_LOOP, PROBE = 19, 21
LOOP, GUARDED, SHOWN, BARRIER, GATHER = 3, 5, 7, 8, 14


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    return str(file)


def issued(
    path: str, *rows: int, by: str = "forward", size: str = "4", names: tuple[str, ...] = ("w",), order: int = 1
) -> Issued:
    *stack, at = (Site(path, row) for row in rows)
    return Issued("all_gather", size, names, Moment(at, tuple(stack)), by, order)


def sequence(
    rank: int, *said: Issued, ended: bool = False, group: str = "0", ranks: tuple[int, ...] = (0, 1)
) -> Sequence:
    came = frozenset((each.when.at.path, each.when.at.row) for each in said)
    return Sequence(rank, group, ranks, ended, came, dict(enumerate(said)))


def parted(*said: Sequence) -> list[tuple[str, dict[int, int]]]:
    """For each parting, the reason and where the ranks that went there alone are."""
    found: dict[str, tuple[str, dict[int, int]]] = {}
    for rank, fact in turns(said):
        _, lines = found.setdefault(fact.key, (fact.traits["parted"], {}))
        if "issued" in fact.places:
            lines[rank] = fact.places["issued"].row
    return list(found.values())


def test_conditions(path: str) -> None:
    assert guard(Site(path, GUARDED), Site(path, BARRIER)) == "rank"
    assert guard(Site(path, SHOWN), Site(path, BARRIER)) == "rank"
    assert guard(Site(path, BARRIER), Site(path, GUARDED)) == ""
    assert guard(Site(path, GATHER), None) == "yes"
    assert guard(Site("/nowhere.py", 3), None) == ""


def test_loops(path: str) -> None:
    assert loop(Site(path, LOOP), Site(path, BARRIER)) == 2
    assert loop(Site(path, LOOP), Site(path, LOOP)) == 0
    assert loop(Site(path, BARRIER), None) == 0


def test_equal(path: str) -> None:
    step = issued(path, LOOP)
    assert parted(sequence(0, step, step), sequence(1, step, step)) == []


def test_another_batch(path: str) -> None:
    step, barrier = issued(path, LOOP), issued(path, BARRIER, by="barrier()", size="", names=())
    assert parted(sequence(0, step, step), sequence(1, step, barrier)) == [("batch", {0: LOOP})]


def test_another_batch_when_the_other_has_ended(path: str) -> None:
    step = issued(path, LOOP)
    assert parted(sequence(0, step, step), sequence(1, step, ended=True)) == [("batch", {0: LOOP})]
    assert parted(sequence(0, step, step), sequence(1, step)) == [], "it may just be slow, or killed"


def test_guard_in_the_caller(path: str) -> None:
    """The condition on the rank counts more than that of the helper."""
    step, gather = issued(path, LOOP), issued(path, GUARDED, GATHER, by="gather()")
    barrier = issued(path, BARRIER, by="barrier()", size="", names=())
    assert parted(sequence(0, step, gather), sequence(1, step, barrier)) == [("guard", {0: GUARDED})]


def test_a_place_where_both_have_been(path: str) -> None:
    step, gather = issued(path, LOOP), issued(path, GUARDED, GATHER, by="gather()")
    barrier = issued(path, BARRIER, by="barrier()", size="", names=())
    first, second = sequence(0, step, gather), sequence(1, step, barrier, gather)
    assert parted(first, second) == [("", {})]


def test_a_thread_in_the_background(path: str) -> None:
    """Where its collectives are issued says nothing about why the ranks part."""
    step, saver = issued(path, LOOP), issued(path, GUARDED, GATHER, by="gather()", order=0)
    barrier = issued(path, BARRIER, by="barrier()", size="", names=())
    assert parted(sequence(0, step, saver), sequence(1, step, barrier)) == [("", {})]


def test_other_parameters(path: str) -> None:
    one, two = issued(path, LOOP, names=("a",)), issued(path, LOOP, names=("b",))
    assert parted(sequence(0, one), sequence(1, two)) == [("", {})]
    unnamed = issued(path, LOOP, names=())
    assert parted(sequence(0, one), sequence(1, unnamed)) == [], "nothing is known of one side"


def test_a_chance_meeting(path: str) -> None:
    """The collective behind the guard meets the first one of what follows, which is the same."""
    step, probe = issued(path, IN_LOOP), issued(path, PROBE)
    back = issued(path, IN_LOOP, by="backward()", size="8")
    assert parted(sequence(0, step, probe, step), sequence(1, step, step, back)) == [("guard", {0: PROBE})]


def test_each_waits_in_another_group(path: str) -> None:
    step = issued(path, LOOP)
    gather, barrier = issued(path, GUARDED, GATHER, order=2), issued(path, BARRIER, by="barrier()", order=2)
    shards = [sequence(0, step, gather, group="shards"), sequence(1, step, group="shards")]
    assert parted(*shards, sequence(1, barrier, group="world")) == [("guard", {0: GUARDED})]
    assert parted(*shards) == [], "the other one may come yet"
    saver = sequence(1, replace(barrier, order=0), group="world")
    assert parted(*shards, saver) == [], "it may come yet, whatever its saver does"


def test_groups_are_compared_alone(path: str) -> None:
    one, two = issued(path, LOOP, size="4"), issued(path, LOOP, size="8")
    first = [sequence(0, one, group="a"), sequence(0, two, group="b")]
    second = [sequence(1, two, group="b"), sequence(1, one, group="a")]
    assert parted(*first, *second) == []


def test_what_was_overwritten(path: str) -> None:
    """The first records of a rank may be gone: where it has been is told for the whole job."""
    gather, barrier = issued(path, GUARDED, by="gather()"), issued(path, BARRIER, size="", names=())
    first, second = sequence(0, gather), sequence(1, barrier)
    first.issued, second.issued = {7: gather}, {7: barrier}
    assert parted(first, second) == [("guard", {0: GUARDED})]
    second.came |= first.came
    assert parted(first, second) == [("", {})], "it has been there before"


def test_what_is_not_told_is_no_difference(path: str) -> None:
    one, other = issued(path, LOOP), replace(issued(path, LOOP), kind="", size="", names=())
    assert parted(sequence(0, one), sequence(1, other)) == []


def test_ranks_that_stand_still(path: str) -> None:
    """Where each waits is where its main thread is: that may tell why."""
    places = ((0, GUARDED, "gather()"), (1, BARRIER, "barrier()"))
    waiting = [
        Stall(rank, 0.0, 5.0, 1.0, issued(path, row, by=by).when, by, True, {"0": Group((0, 1), 1)})
        for rank, row, by in places
    ]
    step = issued(path, LOOP)
    found = standstill(waiting, [sequence(0, step), sequence(1, step)])
    assert {fact.traits["parted"] for _, fact in found} == {"guard"}
    assert {rank: fact.places["issued"].row for rank, fact in found if fact.places} == {0: GUARDED}
