"""Ranks of different machines compare what they issue through the job's store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch.distributed as dist

from fsdp2_lint.report.rank_file import RankFile
from fsdp2_lint.runtime import adapter
from fsdp2_lint.runtime.adapter.membership import Membership
from fsdp2_lint.runtime.agreement import nodes
from fsdp2_lint.runtime.agreement.nodes import Nodes, Said
from fsdp2_lint.runtime.agreement.sequence import EVERY, Sequence

RANKS, PER_NODE = 8, 2


class Counting:
    """A store that counts what it is asked."""

    def __init__(self) -> None:
        self.store, self.asked, self.bytes = dist.HashStore(), Counter[str](), 0

    def compare_set(self, key: str, expected: str, value: str) -> bytes:
        self.asked["compare_set"] += 1
        self.bytes += len(key) + len(value)
        told: bytes = self.store.compare_set(key, expected, value)
        return told

    def check(self, keys: list[str]) -> bool:
        self.asked["check"] += 1
        return self.store.check(keys)

    def get(self, key: str) -> bytes:
        self.asked["get"] += 1
        return self.store.get(key)


@dataclass
class Job:
    store: Counting
    monkeypatch: pytest.MonkeyPatch
    folder: Path
    world: int = RANKS
    ranks: tuple[int, ...] = tuple(range(RANKS))  # that are there; the others would do as these do

    def __post_init__(self) -> None:
        self.monkeypatch.setenv("LOCAL_WORLD_SIZE", str(PER_NODE))
        self.monkeypatch.setattr(adapter, "ranks_of_group", lambda name: tuple(range(self.world)))
        self.monkeypatch.setattr(adapter, "store", lambda: self.store)
        self.said: list[tuple[int, Said]] = []
        self.broken: list[Exception] = []
        self.sequences, self.nodes = dict[int, Sequence](), dict[int, Nodes]()
        for rank in self.ranks:
            self.be(rank)
            file = RankFile(self.folder, rank)
            self.sequences[rank] = Sequence(file)
            tell = lambda said, rank=rank: self.said.append((rank, said))  # noqa: E731
            self.nodes[rank] = Nodes(self.sequences[rank], file, tell, self.broken.append)

    def be(self, rank: int) -> None:
        self.monkeypatch.setattr(adapter, "own", lambda: Membership(rank, self.world, "token"))
        self.monkeypatch.setattr(adapter, "own_rank", lambda: rank)
        self.monkeypatch.setenv("LOCAL_RANK", str(rank % PER_NODE))

    def issue(self, kinds: dict[int, str], times: int = 1) -> None:
        """Every rank issues a barrier, or what it is told to."""
        for rank, sequence in self.sequences.items():
            for _ in range(times):
                sequence.add(("0", kinds.get(rank, "barrier"), -1, None))

    def look(self) -> None:
        for rank, each in self.nodes.items():
            self.be(rank)
            each.look()


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(Counting(), monkeypatch, tmp_path)


def test_equal_sequences_cost_one_number_for_each_machine(job: Job) -> None:
    for _ in range(3):
        job.issue({}, EVERY)
        job.look()
    assert job.said == []
    assert job.store.asked["compare_set"] == 3 * RANKS // PER_NODE
    assert job.store.asked["get"] == 0 and job.store.bytes < 100 * job.store.asked["compare_set"]


@pytest.mark.parametrize("world", [8, 1024, 4096])
def test_a_rank_asks_as_much_in_a_large_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: int) -> None:
    """Those that speak for the first and for the last machine, and those beside them, who ask for nothing."""
    job = Job(Counting(), monkeypatch, tmp_path, world, (0, 1, world - 2, world - 1))
    for _ in range(3):
        job.issue({}, EVERY)
        job.look()
    assert job.store.asked["compare_set"] == 3 * 2 and job.store.asked["get"] == 0
    assert job.store.bytes < 100 * job.store.asked["compare_set"] and not job.broken


def test_a_machine_that_parts_is_told_once(job: Job) -> None:
    job.issue({}, EVERY - 1)
    job.issue(dict.fromkeys((4, 5), "all_gather"))
    for _ in range(3):
        job.look()
    ((rank, said),) = job.said
    assert rank in (0, 2, 6), "one of those that have not parted says it"
    assert {who: fact.traits["words"] for who, fact in said} == {rank: "barrier", 4: "all_gather"}
    written = [line for path in job.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert sum('"of":4' in line for line in written) == 1
    job.issue({}, EVERY)
    job.look()
    assert len(job.said) == 1


def test_a_group_of_one_machine_asks_nobody(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "ranks_of_group", lambda name: (0, 1))
    job.issue({}, EVERY)
    job.look()
    assert not job.store.asked


@pytest.mark.parametrize("missing", ["LOCAL_RANK", "LOCAL_WORLD_SIZE"])
def test_machines_that_are_not_known_are_not_compared(job: Job, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv(missing)
    assert not nodes.speaks(tuple(range(RANKS)))


@pytest.mark.parametrize("error", [RuntimeError("the store is gone"), ValueError("a defect of ours")])
def test_a_store_that_is_gone_is_no_defect(job: Job, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """It goes with its rank, as at the end of any job."""

    def gone() -> None:
        raise error

    monkeypatch.setattr(nodes, "PAUSE", 0.01)
    monkeypatch.setattr(adapter, "store", gone)
    job.nodes[0].start()
    job.nodes[0]._thread.join(30)
    assert not job.nodes[0]._thread.is_alive()
    assert job.broken == ([error] if isinstance(error, ValueError) else [])
