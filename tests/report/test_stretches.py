"""Files that are read beside each other give the same lines as each of them alone."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from fsdp2_lint.report.stretches import FINDING, Stretches


class Reader:
    """What was read, and how many lines were looked at one by one for it."""

    def __init__(self) -> None:
        self.stretches, self.known, self.asked = Stretches(), dict[bytes, int](), 0

    def lines(self, data: bytes, rank: int = -1) -> list[bytes]:
        def number(line: bytes) -> int:
            self.asked += 1
            if line.startswith(FINDING):
                line = line.replace(b"%d" % rank, b"itself")
            return self.known.setdefault(line, len(self.known))

        by_number = self.stretches.numbers(data, number)
        told = {number: line for line, number in self.known.items()}
        return [told[number] for number in by_number]


# Lines of which one is the beginning of another, that are empty, that end otherwise, or that are not ended.
PIECES = st.sampled_from([b"a\n", b"a", b"ab\n", b"b\n", b"b\r\n", b"\n", b"\r", b"start\n", b'{"record":1}\n'])


@given(st.lists(st.lists(PIECES, max_size=40), max_size=5), st.lists(st.integers(0, 40), max_size=6))
def test_any_files(files: Sequence[Sequence[bytes]], dropped: Sequence[int]) -> None:
    reader = Reader()
    for pieces in files:
        left = [piece for index, piece in enumerate(pieces) if index not in dropped]
        for each in (pieces, left, pieces):
            data = b"".join(each)
            assert reader.lines(data) == data.splitlines()
            assert reader.lines(data[:-1]) == data[:-1].splitlines()


def ranked(rank: int, kind: int = 0) -> bytes:
    own = [b"start %d" % rank, b"common", FINDING + b" of %d" % rank, *[b"kind %d, %d" % (kind, n) for n in range(200)]]
    return b"\n".join([*own, b"end %d" % rank, b""])


def test_a_finding_that_reads_the_same_on_another_rank_is_another_one() -> None:
    reader = Reader()
    data = ranked(0)
    assert FINDING + b" of itself" in reader.lines(data, rank=0)
    assert FINDING + b" of 0" in reader.lines(data, rank=1)


def test_what_ranks_have_in_common_is_looked_at_once() -> None:
    """Of ranks of two kinds, in turns: their own lines, and one after each of those to find the way."""
    reader = Reader()
    for rank in (0, 1):
        reader.lines(ranked(rank, kind=rank), rank)
    reader.asked = 0
    for rank in range(2, 12):
        data = ranked(rank, kind=rank % 2)
        assert reader.lines(data, rank)[3:] == data.splitlines()[3:]
    assert reader.asked <= 10 * 6
