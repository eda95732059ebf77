"""The sequences of ranks are compared while they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.report.agreement import Agreement
from fsdp2_lint.report.codec import site_as_json
from fsdp2_lint.report.halves import SLOTS, token
from fsdp2_lint.report.rank_file import VERSION, RankFile, rank_files
from fsdp2_lint.report.ring import Ring
from fsdp2_lint.report.sequences import ring_of
from fsdp2_lint.vocab.finding import Site

KINDS = ("all_gather", "reduce_scatter", "barrier")


class Rank:
    """Writes as a rank of a job does."""

    def __init__(self, folder: Path, rank: int, *, token: str = "t", attempt: int = 0, ranks: tuple[int, ...] = (0, 1)):
        self.file = RankFile(folder, rank, attempt)
        self.ring = Ring(ring_of(self.file.path))
        start: dict[str, Any] = {"version": VERSION, "rank": rank, "world_size": len(ranks), "run": "r"}
        self.file.write("start", **start)
        self.file.write("joined", rank=rank, world_size=len(ranks), token=token)
        self.group(0, "0", ranks)
        for number, kind in enumerate(KINDS):
            self.file.write("collective", id=number, kind=kind, size="4", names=[])
        for row in range(3):
            self.file.write("place", id=row, at=site_as_json(Site("/train.py", row + 1)), stack=[], by="f", aside=False)

    def group(self, number: int, name: str, ranks: tuple[int, ...]) -> None:
        self.file.write("group", id=number, name=name, ranks=list(ranks))

    def issue(self, kind: int, *, group: int = 0, place: int = 0) -> None:
        for _ in range(2):
            try:
                self.ring.write(token(group, kind, place, kind + 1))
                return
            except ValueError:
                self.ring.turn()


def parted(found: list[Any]) -> dict[int, str]:
    return {rank: fact.traits["words"] for rank, fact in found}


def test_equal_sequences(tmp_path: Path) -> None:
    ranks = [Rank(tmp_path, rank) for rank in range(2)]
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    for _ in range(3 * SLOTS // 3):
        for kind in (0, 0, 1):
            for rank in ranks:
                rank.issue(kind)
        assert watch.look() == []


def test_another_one_is_told_once(tmp_path: Path) -> None:
    first, second = (Rank(tmp_path, rank) for rank in range(2))
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    for _ in range(SLOTS + 10):  # they agree for longer than the ring goes back
        first.issue(0)
        second.issue(0)
        assert watch.look() == []
    first.issue(1, place=1)
    assert watch.look() == []
    second.issue(2, place=2)
    assert parted(watch.look()) == {0: "reduce_scatter", 1: "barrier"}
    first.issue(1)
    second.issue(1)
    assert watch.look() == []


def test_one_rank_is_far_ahead(tmp_path: Path) -> None:
    """More than fits into its ring: what is lost is not compared, and what is left is."""
    first, second = (Rank(tmp_path, rank) for rank in range(2))
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    for _ in range(2 * SLOTS + 5):
        first.issue(0)
    while watch.look():
        raise AssertionError("nobody else has come yet")
    for _ in range(2 * SLOTS + 4):
        second.issue(0)
    second.issue(1, place=1)
    found = [fact for _ in range(20) for fact in watch.look()]
    assert parted(found) == {0: "all_gather", 1: "reduce_scatter"}


@pytest.mark.parametrize("attempt", [0, 1])
def test_another_attempt_has_groups_of_the_same_name(tmp_path: Path, attempt: int) -> None:
    first = Rank(tmp_path, 0)
    later = Rank(tmp_path, 1, token="u", attempt=attempt)
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    first.issue(0)
    later.issue(1)
    assert watch.look() == []


def test_groups_of_other_ranks(tmp_path: Path) -> None:
    ranks = [Rank(tmp_path, rank, ranks=(0, 1, 2)) for rank in range(3)]
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    for rank, kind in zip(ranks[:2], (0, 1)):
        rank.group(1, "pair", (0, 1))
        rank.issue(kind, group=1)
    for rank in ranks:
        rank.issue(2)
    assert parted(watch.look()) == {0: "all_gather", 1: "reduce_scatter"}


def test_who_comes_later_is_met(tmp_path: Path) -> None:
    first = Rank(tmp_path, 0)
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    first.issue(0)
    assert watch.look() == []
    second = Rank(tmp_path, 1)
    watch.meet(rank_files(tmp_path))
    second.issue(1)
    assert parted(watch.look()) == {0: "all_gather", 1: "reduce_scatter"}


@pytest.mark.parametrize("later", [0, 1])
def test_who_looks_late_sees_it_in_what_is_left(tmp_path: Path, later: int) -> None:
    first, second = (Rank(tmp_path, rank) for rank in range(2))
    first.issue(1, place=1)
    second.issue(2, place=2)
    for each in (first, second):
        each.group(1, "other", (0, 1))
        for _ in range(SLOTS // 2):
            each.issue(0, group=later)
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    found = [fact for _ in range(20) for fact in watch.look()]
    assert parted(found) == {0: "reduce_scatter", 1: "barrier"}


@pytest.mark.parametrize("ahead", [0, 1])
def test_one_rank_has_gone_on_further_than_the_other(tmp_path: Path, ahead: int) -> None:
    """Of one the newest records still tell where they parted, and of the other only all of them do."""
    ranks = [Rank(tmp_path, rank) for rank in range(2)]
    for rank, kind in zip(ranks, (1, 2)):
        rank.group(1, "other", (0, 1))
        rank.issue(0, group=1)
        rank.issue(kind, group=1)
        for _ in range(600 if rank is ranks[ahead] else 100):
            rank.issue(0)
    watch = Agreement()
    watch.meet(rank_files(tmp_path))
    found = [fact for _ in range(20) for fact in watch.look()]
    assert parted(found) == {0: "reduce_scatter", 1: "barrier"}
