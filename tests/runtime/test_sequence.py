"""What is written down of a collective before it is issued."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch
from torch.distributed.tensor import Replicate, Shard

from fsdp2_lint.report.rank_file import RankFile
from fsdp2_lint.report.sequences import sequences
from fsdp2_lint.runtime import adapter
from fsdp2_lint.runtime.agreement.sequence import EVERY, Sequence, Use


@pytest.mark.parametrize(
    ("length", "cuts", "everywhere"),
    [(4, [4], True), (5, [4], False), (7, [4], True), (3, [4], False), (0, [2], False), (8, [2, 4], True),
     (7, [2, 4], False), (5, [], True)],
)  # fmt: skip
def test_which_ranks_have_a_part(length: int, cuts: list[int], everywhere: bool) -> None:
    """Of one mesh dimension, torch itself says it by its chunks; several are only told where they divide evenly."""
    if len(cuts) == 1 and length:
        assert (len(torch.empty(length).chunk(cuts[0])) == cuts[0]) is everywhere
    mesh = SimpleNamespace(shape=(3, *cuts))
    placed = [Replicate(), *(Shard(0) for _ in cuts)]
    tensor = SimpleNamespace(device_mesh=mesh, placements=placed, shape=(length, 2))
    assert adapter.is_everywhere(tensor) is everywhere


def test_names_that_all_ranks_know_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the job runs, one number per group is all that the ranks compare."""
    monkeypatch.setattr(adapter, "ranks_of_group", lambda name: (0, 1))
    rolling = {}
    for rank, (name, told) in enumerate([("a", True), ("b", True), ("a", False), ("b", False)]):
        sequence = Sequence(RankFile(tmp_path, rank))
        sequence.now.at.use = Use((name,), told=told)
        for _ in range(EVERY):
            sequence.add(("0", "all_gather", 4, torch.float32))
        rolling[name, told] = sequence.marks()[0].rolling
    assert rolling["a", True] != rolling["b", True]
    assert rolling["a", False] == rolling["b", False]


def test_a_place_belongs_to_the_thread_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread without code of the user stands where the main thread stands, and yet is in the background."""
    monkeypatch.setattr(adapter, "ranks_of_group", lambda name: (0, 1))
    file = RankFile(tmp_path, 0)
    sequence, issue, waits = Sequence(file), ("0", "barrier", -1, None), threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(waits.wait)  # until the main thread waits at the place where it issued its own
        threading.Timer(0.2, waits.set).start()
        for each in (map(sequence.add, [issue]), pool.map(sequence.add, [issue])):
            list(each)
    records = [json.loads(line) for line in file.path.read_text().splitlines()]
    (said,) = sequences(0, file.path, records)
    mine, asides = said.issued[0], said.issued[1]
    assert mine.when == asides.when
    assert (mine.order, asides.order) == (1, 0)


def test_a_signal_in_the_middle_of_it_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that saves, as before a preemption, runs in the thread that it interrupts."""
    monkeypatch.setattr(adapter, "ranks_of_group", lambda name: (0, 1))
    monkeypatch.setattr("fsdp2_lint.runtime.agreement.sequence.PATIENCE", 0.01)
    file = RankFile(tmp_path, 0)
    sequence, issue = Sequence(file), ("0", "barrier", -1, None)
    monkeypatch.setattr(adapter, "size_of", lambda found: sequence.add(issue) or "")  # comes while the first is written
    sequence.add(issue)
    sequence.add(issue)
    assert "cut" in [json.loads(line)["record"] for line in file.path.read_text().splitlines()], (
        "nothing follows from it"
    )
    assert not sequence.is_kept
