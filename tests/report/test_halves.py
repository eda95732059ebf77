"""The file with a rank's collectives: what is read of it is what was written, also while it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.report.halves import HALF, MOST_GROUPS, SIZE, SLOTS, Follower, State, beginning, halves, token, written
from fsdp2_lint.report.ring import BYTES, Ring, follow

GROUPS = 3


class Writer:
    """Knows what it has written: of each collective its group, its position there and the number for all up to it."""

    def __init__(self, path: Path) -> None:
        self.ring = Ring(path)
        self.states = [State()] * GROUPS
        self.said: list[tuple[int, int, int]] = []

    def write(self, times: int = 1) -> None:
        for _ in range(times):
            number = len(self.said)
            group, digest = number * 7 % GROUPS, number % 11 + 1
            before = self.states[group]
            self.states[group] = before.after(digest)
            self.said.append((group, before.issued, self.states[group].rolling))
            stored = token(group, number % 5, number % 4, digest)
            try:
                self.ring.write(stored)
            except ValueError:
                self.ring.turn()
                self.ring.write(stored)


@pytest.mark.parametrize("stride", [1, 100, SLOTS - 1, SLOTS, SLOTS + 7])
def test_who_keeps_up_reads_each_once(tmp_path: Path, stride: int) -> None:
    writer = Writer(tmp_path / "ring")
    reader, read = follow(tmp_path / "ring"), []
    for _ in range(2 * SLOTS // stride + 3 if stride > 1 else SLOTS + 50):
        writer.write(stride)
        while found := reader.new(64):
            read += found
    assert read == writer.said and len(read) > SLOTS
    assert writer.ring.total == len(read)


def test_who_was_overtaken_goes_on_with_what_is_left(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "ring")
    reader = follow(tmp_path / "ring")
    writer.write(10)
    assert reader.new(5) == writer.said[:5]
    writer.write(5 * SLOTS)
    read = []
    while found := reader.new(1000):
        read += found
    assert read == writer.said[-len(read) :], "with the positions and the numbers of before"
    assert len(read) > SLOTS - GROUPS
    late = follow(tmp_path / "ring")
    assert late.new(3) == read[:3]


def test_what_is_not_written_in_whole_is_not_there(tmp_path: Path) -> None:
    whole = token(0, 1, 2, 3)
    for torn in range(0, SIZE, 4):  # one of its numbers is not there yet
        part = whole + whole[:torn] + bytes(4) + whole[torn + 4 :] + whole
        assert list(written(part)) == [(0, 1, 2, 3)]
    assert list(written(token(MOST_GROUPS, 1, 2, 3))) == []


def test_a_file_that_is_no_such_file() -> None:
    for data in (b"", b"x", bytes(BYTES), b"\xff" * BYTES, beginning(1, 0, [State()])[:-1]):
        assert all(half.at <= half.end for half in halves(data))
        assert Follower(data.ljust(BYTES, b"\0")).new(10) == []


def test_the_half_that_is_begun_is_whole_or_not_there() -> None:
    """A reader may look while the lap is not written yet: then the older half is all that there is."""
    older = (beginning(1, 0, []) + token(0, 0, 0, 1) * SLOTS)[:HALF]
    newer = bytearray(beginning(2, SLOTS - 1, [State(SLOTS - 1, 5)]) + token(0, 0, 0, 1))
    newer[:SIZE] = bytes(SIZE)
    assert [half.lap for half in halves((older + bytes(newer)).ljust(BYTES, b"\0"))] == [1]
