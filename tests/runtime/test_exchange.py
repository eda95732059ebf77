"""What ranks ask the store for: it does not grow with the world, and it is little where they agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch.distributed as dist

from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.findings import disagreements
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.rank_file import rank_files, records
from fsdp2_lint.runtime.agreement import exchange
from fsdp2_lint.vocab.facts import Fact
from fsdp2_lint.vocab.finding import Moment, Site
from tests.runtime.commands import GOOD, HEAD, command, job_folder

AT = Moment(Site("train.py", 1, 1, 1, 1))
PARAMS = 40
OWN = ("batch", "device")


class Store:
    """A store of torch's in one process. It counts what it is asked, and what it sends and is sent."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.requests = 0
        self.bytes = 0

    def _count(self, *texts: str | bytes) -> None:
        self.requests += 1
        self.bytes += sum(map(len, texts))

    def set(self, key: str, value: str) -> None:
        self._count(key, value)
        self.kept[key] = value.encode()

    def get(self, key: str) -> bytes:
        self._count(key, self.kept[key])
        return self.kept[key]

    def multi_get(self, keys: list[str]) -> list[bytes]:
        self._count(*keys, *(self.kept[key] for key in keys))
        return [self.kept[key] for key in keys]

    def add(self, key: str, amount: int) -> int:
        self._count(key)
        value = int(self.kept.get(key, b"0")) + amount
        self.kept[key] = str(value).encode()
        return value

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        assert not expected
        there = self.kept.setdefault(key, desired.encode())
        self._count(key, desired, there)
        return there

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        self._count(*keys)
        if missing := [key for key in keys if key not in self.kept]:
            raise dist.DistStoreError(f"nobody sets {missing}")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    only = Store()
    monkeypatch.setattr(exchange.adapter, "store", lambda: only)
    yield only


def plan(world_size: int, odd: str = "") -> Fact:
    values = {f"layers.{number}": f"weight [512, 512] over many ranks {odd}" for number in range(PARAMS)}
    return Fact("plan", "Net", AT, tuple(range(world_size)), values, dict.fromkeys(values, AT.at))


@pytest.fixture
def as_rank(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Each rank is a process, with counts of its own of what it asked so far."""

    def call(rank: int, work: Callable[..., Any], *given: Any) -> Any:
        monkeypatch.setattr(exchange, "_asked", type(exchange._asked)())
        return work(*given, rank)

    return call


def met(store: Store, as_rank: Callable[..., Any], said: dict[int, Fact]) -> tuple[list[Any], list[tuple[int, int]]]:
    """What each rank comes to know before its first forward, and the (requests, bytes) that it took."""
    found, cost = [], []
    for rank, fact in said.items():
        before = store.requests, store.bytes
        found.append(as_rank(rank, exchange.meet, fact))
        cost.append((store.requests - before[0], store.bytes - before[1]))
    return found, cost


@pytest.mark.parametrize("world_size", [8, 1024, 4096])
def test_ranks_that_agree_ask_once(store: Store, as_rank: Callable[..., Any], world_size: int) -> None:
    fact = plan(world_size)
    found, cost = met(store, as_rank, dict.fromkeys(range(world_size), fact))
    assert [each.first for each in found] == [0] * world_size and not any(each.facts for each in found)
    assert cost[0][0] == 2 and {requests for requests, _ in cost[1:]} == {1}
    assert max(size for _, size in cost[1:]) < 250  # one digest there and one back
    assert cost[0][1] > 5000  # the text


@pytest.mark.parametrize("world_size", [8, 1024])
def test_who_differs_fetches_one_text_and_one_of_them_says_it(
    store: Store, as_rank: Callable[..., Any], world_size: int
) -> None:
    said = {rank: plan(world_size, "other" if rank % 2 else "") for rank in range(world_size)}
    found, cost = met(store, as_rank, said)
    text = cost[0][1]
    assert [bool(each.facts) for each in found] == [rank % 2 == 1 for rank in range(world_size)]
    assert [rank for rank in said if found[rank].speaks] == [1]
    assert found[3].facts == {0: said[0], 3: said[3]}
    assert all(requests <= 4 and size < text + 500 for requests, size in cost)


def test_stages_of_a_pipeline_have_plans_of_their_own(store: Store, as_rank: Callable[..., Any]) -> None:
    ranks = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3)}
    said = {rank: Fact("plan", "Net", AT, mesh, {"a": str(mesh)}) for rank, mesh in ranks.items()}
    found, _ = met(store, as_rank, said)
    assert [(each.first, dict(each.facts)) for each in found] == [(0, {}), (0, {}), (2, {}), (2, {})]


def test_the_same_is_asked_again(store: Store, as_rank: Callable[..., Any]) -> None:
    """Two models of one class: the second time, the text of the first does not count."""

    def twice(rank: int) -> list[bool]:
        return [bool(exchange.meet(Fact("plan", "Net", AT, (0, 1), {"a": text}), rank).facts) for text in "xy"]  # type: ignore[union-attr]

    assert [as_rank(rank, twice) for rank in range(2)] == [[False, False]] * 2


def test_who_came_first_died_before_its_text_was_there(store: Store, as_rank: Callable[..., Any]) -> None:
    as_rank(0, exchange.meet, plan(2))
    for key in [key for key in store.kept if key.endswith("/text")]:
        del store.kept[key]
    assert as_rank(1, exchange.meet, plan(2)).facts == {}
    assert as_rank(1, exchange.meet, plan(2, "other")) is None


# In the end


@cache
def common(world_size: int) -> list[Fact]:
    """What all ranks stated in a block."""
    everyone = tuple(range(world_size))
    gradients = [
        Fact("group-gradients", f"layers.{number}", AT, everyone, {"weight": "yes"}, {"": AT.at})
        for number in range(PARAMS)
    ]
    return [plan(world_size), *gradients]


def facts(world_size: int, rank: int) -> list[Fact]:
    """The same with what is the rank's own."""
    everyone = common(world_size)[0].ranks
    own = [
        Fact("batch", "inputs", AT, everyone, {f"backward {number}": f"{rank} {number}"}, step=number)
        for number in range(3)
    ]
    return [*common(world_size), *own, Fact("device", "devices", AT, everyone, {"device": f"GPU {rank}"})]


def compared(
    store: Store, monkeypatch: pytest.MonkeyPatch, world_size: int, said: Callable[[int], list[Fact]]
) -> tuple[list[str], list[tuple[int, int]]]:
    """What each rank hears in the end, and the (requests, bytes) that it took. The last one compares."""
    monkeypatch.setattr(dist, "get_world_size", lambda: world_size)
    jobs = [exchange._Job(store, "all/1", rank, world_size) for rank in range(world_size)]
    cost = [[0, 0] for _ in jobs]

    def charged(rank: int, work: Callable[..., Any], *given: Any) -> Any:
        before = store.requests, store.bytes
        try:
            return work(*given)
        finally:
            cost[rank][0] += store.requests - before[0]
            cost[rank][1] += store.bytes - before[1]

    last = [charged(job.rank, job.say, said(job.rank), frozenset(OWN)) for job in jobs]
    assert last == [False] * (world_size - 1) + [True]
    turn = [jobs[-1], *jobs[1:-1], jobs[0]]  # rank 0 waits for the others
    heard = {job.rank: charged(job.rank, job.receive, codes if job is jobs[-1] else None) for job in turn}
    return [heard[rank] for rank in range(world_size)], [(requests, size) for requests, size in cost]


def codes(said: Any) -> str:
    found, broken = disagreements(said, registry.rules())
    return json.dumps([[each.code, str(each.observed)] for _, each in found] + [str(error) for error in broken])


@pytest.mark.parametrize("world_size", [8, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (1024, 4096))])
def test_in_the_end_a_rank_asks_as_often_in_a_large_world(
    store: Store, monkeypatch: pytest.MonkeyPatch, world_size: int
) -> None:
    heard, cost = compared(store, monkeypatch, world_size, lambda rank: facts(world_size, rank))
    assert set(heard) == {"[]"}
    assert {requests for requests, _ in cost[1:-1]} == {8 - 1}
    assert max(size for _, size in cost[1:-1]) < 3000  # what is its own, and digests
    first, last = cost[0], cost[-1]
    assert first[1] > 10_000  # the texts that all have in common, once in the job
    assert last[0] < 20 + world_size / exchange.MANY


def test_in_the_end_all_hear_what_some_differ_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(rank: int) -> list[Fact]:
        gradients = Fact("group-gradients", "layers.0", AT, tuple(range(8)), {"weight": "no" if rank == 5 else "yes"})
        return [gradients, Fact("device", "devices", AT, tuple(range(8)), {"device": f"GPU {rank // 2}"})]

    heard, _ = compared(store, monkeypatch, 8, said)
    assert len(set(heard)) == 1
    assert sorted({code for code, _ in json.loads(heard[0])}) == ["FSDP106", "FSDP613"]


def test_the_others_do_not_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then each rank has what it said itself."""
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    fact = plan(2)
    assert exchange.compare_all([fact], 0, OWN, lambda said: repr(list(said) == [(0, fact)])) == "True"


class Lost:
    """A store whose server ended, as rank 0 does at the end of a script."""

    def __getattr__(self, name: str) -> Any:
        def lost(*given: Any) -> Any:
            raise dist.DistNetworkError("Connection reset by peer")

        return lost


def test_the_store_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a job must not be a traceback of ours."""
    monkeypatch.setattr(exchange.adapter, "store", Lost)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    assert exchange.compare_all([plan(2)], 0, OWN, lambda said: str(len(said))) == "1"
    assert exchange.meet(plan(2), 0) is None


# Real ranks

SHORT = HEAD.replace('("gloo")', '("gloo", timeout=datetime.timedelta(seconds=5))').replace(
    "import os\n", "import datetime\nimport os\n"
)
OTHER_PLANS = (
    SHORT
    + "model = fully_shard(Net()) if rank > 1 else shard(Net())\n"
    + "train(model, torch.optim.SGD(model.parameters(), lr=0.1))\n"
)


@pytest.mark.slow
@pytest.mark.torchrun
def test_plans_that_differ_are_said_once(tmp_path: Path) -> None:
    """By a rank that differs, before torch fails; the report then says it of all ranks."""
    (tmp_path / "train.py").write_text(OTHER_PLANS)
    ran = command(tmp_path, "run", "--check", "train.py", ranks=4)
    lines = [text for each in ran for text in each.err.splitlines() if text.startswith("fsdp2-lint:")]
    said = [text for text in lines if "FSDP316" in text]
    assert len(said) == 1 and "layers.0 is a group of its own on rank " in said[0], ran
    (found,) = [each for each in read_job(job_folder(tmp_path), registry.rules()).findings if each.code == "FSDP316"]
    assert found.message.startswith("layers.0 is a group of its own on ranks 0-1 and not on ranks 2-3")


@pytest.mark.slow
@pytest.mark.torchrun
def test_a_plan_that_all_have_is_written_once(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GOOD)
    assert [each.code for each in command(tmp_path, "run", "--check", "train.py")] == [0, 0]
    said = [record for path in rank_files(job_folder(tmp_path)) for record in records(path)]
    plans = [record for record in said if record["record"] == "fact" and record["kind"] == "plan"]
    assert len(plans) == 2 and len({record["digest"] for record in plans}) == 1
    assert len([record for record in plans if "values" in record]) == 1
    assert not any(record["record"] == "not_compared" for record in said)
