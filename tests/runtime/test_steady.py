"""What FSDP2 issues again and again is known by one comparison; what differs in anything takes the long way."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.report.halves import SLOTS
from fsdp2_lint.report.rank_file import RankFile, records
from fsdp2_lint.report.sequences import Issued, sequences
from fsdp2_lint.runtime import adapter
from fsdp2_lint.runtime.agreement.sequence import Sequence
from fsdp2_lint.runtime.agreement.steady import wrappers
from fsdp2_lint.runtime.patches import Patches


class Param:
    def __init__(self, name: str) -> None:
        self.name = name


class Job:
    """A rank that gathers and reduces as FSDP2 does, and what was written down of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapter, "ranks_of_group", lambda name: (0, 1))
        monkeypatch.setattr(adapter, "fqns", lambda params: tuple(each.name for each in params))
        self.file, self.patches, self.broken = RankFile(folder, 0), Patches(), []
        self.sequence = Sequence(self.file)
        self.patches.install()
        self.own = wrappers(self.sequence, self.patches, lambda where, error: self.broken.append(error))
        self.gather = self.kind("all_gather")
        self.reduce = self.kind("reduce_scatter")
        self.long_ways = 0
        for name in ("add_for", "add_again"):
            monkeypatch.setattr(self.sequence, name, self.counted(getattr(self.sequence, name)))

    def counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.long_ways += 1
            return original(*args)

        return counted

    def kind(self, kind: str) -> Callable[[list[Param], torch.Tensor], None]:
        read = lambda args, kwargs: (args[0], kind, args[1].numel(), args[1].dtype)  # noqa: E731
        issue = self.own.issuing(adapter.Issuer(None, kind, read, kind, 1), lambda group, sent: None)
        code = compile("lambda params, sent: issue('0', sent)", torch.__file__, "eval")  # it is no code of the user
        return self.own.around(eval(code, {"issue": issue}))

    def issued(self) -> list[Issued]:
        (said,) = sequences(0, self.file.path, records(self.file.path))
        return [said.issued[number] for number in sorted(said.issued)]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(tmp_path, monkeypatch)


BLOCKS = [[Param(f"{block}.{name}") for name in ("up", "down")] for block in range(3)]
SMALL, LARGE = torch.zeros(4), torch.zeros(8)


def step(job: Job) -> None:
    for block in BLOCKS:
        job.gather(block, SMALL)
    for block in reversed(BLOCKS):
        job.gather(block, SMALL)
        job.reduce(block, LARGE)


def test_a_step_like_the_one_before_takes_no_long_way(job: Job) -> None:
    step(job)
    step(job)  # where one step follows another is new
    first, seen = job.issued()[:9], job.long_ways
    for _ in range(3000):  # round the file more than twice
        step(job)
    assert job.long_ways == seen + (3000 * 9 + 18) // 4095, "but for where one half of the file is full"
    assert job.sequence.total == 3002 * 9 and not job.broken
    last = job.issued()[-9:]
    assert [(each.words, each.size, each.when) for each in last] == [
        (each.words, each.size, each.when) for each in first
    ]
    assert last[-1].order == 3002 * 9
    assert [each.words for each in first[3:5]] == ["all_gather of 2", "reduce_scatter of 2"]


def test_what_all_of_it_takes_is_a_few_calls(job: Job) -> None:
    """Counted and not timed, for as many as fill both halves of the file: what is done when one is full is in it."""
    step(job)
    step(job)
    calls, steps = 0, 2 * SLOTS // 9

    def count(frame: FrameType, event: str, called: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    for _ in range(steps):
        step(job)
    sys.setprofile(None)
    calls -= steps * (1 + 9 * 4)  # the step itself, and what issues in it
    assert 0 < calls < 10 * 9 * steps


def test_another_order_is_written_as_it_was(job: Job) -> None:
    for _ in range(3):
        step(job)
    job.gather(BLOCKS[1], SMALL)
    job.gather(BLOCKS[0], SMALL)
    step(job)
    assert [each.words for each in job.issued()[27:30]] == ["all_gather of 1", "all_gather of 0", "all_gather of 0"]


def test_another_line_is_told(job: Job) -> None:
    for _ in range(3):
        step(job)
    job.gather(BLOCKS[0], SMALL)
    here = job.issued()[-1].when.at.row
    job.gather(BLOCKS[0], SMALL)
    assert job.issued()[-1].when.at.row == here + 2


@pytest.mark.parametrize("other", [torch.zeros(6), torch.zeros(4, dtype=torch.int32)])
def test_another_size_or_dtype_is_told(job: Job, other: torch.Tensor) -> None:
    for sent in (SMALL, SMALL, SMALL, other):
        job.gather(BLOCKS[0], sent)
    assert [each.size for each in job.issued()][2:] == [
        "4 numbers of torch.float32",
        f"{other.numel()} numbers of {other.dtype}",
    ]


def test_some_of_the_parameters_are_not_all(job: Job) -> None:
    """As many from the same one on, and of the same size: those with a gradient differ from rank to rank."""
    first, second, third = (Param(name) for name in "abc")
    job.gather([first, second, third], SMALL)
    for given in ([first, second], [first, third], [first, second, third]) * 3:
        job.reduce(given, LARGE)
    assert [each.names for each in job.issued()[1:]] == [("a", "b"), ("a", "c"), ("a", "b", "c")] * 3


def test_who_gets_the_identity_of_another_one(job: Job) -> None:
    """Parameters that are gone leave their identity to others, as when a model is built anew."""
    names, identities = [f"model {number}" for number in range(50)], []
    for name in names:
        params = [Param(name)]
        identities.append(id(params[0]))
        for _ in range(3):
            job.gather(params, SMALL)
        del params
    assert len(set(identities)) < len(names), "else nothing was shown"
    assert [each.names for each in job.issued()] == [(name,) for name in names for _ in range(3)]


def test_another_thread_meanwhile(job: Job) -> None:
    """A saver in the background has nothing to do with what is gathered just then, and two may gather."""
    read = lambda args, kwargs: ("0", "barrier", -1, None)  # noqa: E731
    barrier = job.own.issuing(adapter.Issuer(None, "barrier", read, "barrier", 1), lambda *args: None)

    def aside(work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    def both(params: list[Param], sent: torch.Tensor) -> None:
        aside(lambda: barrier("0", sent))
        aside(lambda: job.gather(BLOCKS[1], sent))
        job.own.issuing(adapter.Issuer(None, "x", gathers, "all_gather", 1), lambda *args: None)("0", sent)

    gathers = lambda args, kwargs: ("0", "all_gather", args[1].numel(), args[1].dtype)  # noqa: E731
    around = job.own.around(both)
    for _ in range(3):
        around(BLOCKS[0], SMALL)
    assert [each.words for each in job.issued()] == ["barrier", "all_gather of 1", "all_gather of 0"] * 3


def test_nothing_is_kept(job: Job) -> None:
    """Not until the next garbage collection either."""
    gc.disable()
    try:
        for _ in range(4):
            params, sent = [Param("a")], torch.zeros(4)
            kept = weakref.ref(params[0]), weakref.ref(sent)
            job.gather(params, sent)
            job.gather(params, sent)
            job.reduce(params, sent)
            del params, sent
            assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()


def test_a_process_that_forks_writes_nothing(job: Job) -> None:
    for _ in range(3):
        step(job)
    child = os.fork()
    if not child:
        step(job)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    job.gather(BLOCKS[2], SMALL)
    assert len(job.issued()) == 28 and job.issued()[-1].words == "all_gather of 2"


def test_nothing_is_written_after_the_end(job: Job) -> None:
    for _ in range(3):
        step(job)
    job.sequence.close()
    step(job)
    assert len(job.issued()) == 27 and not job.broken


def test_what_is_issued_is_passed_on(job: Job) -> None:
    seen = []
    issue = job.own.issuing(
        adapter.Issuer(None, "x", lambda args, kwargs: None, "x", 1),
        lambda *args, **kwargs: seen.append((args, kwargs)),
    )
    around = job.own.around(lambda params, *args, **kwargs: issue(*args, **kwargs))
    around(BLOCKS[0], 1, SMALL, more=2)
    around(BLOCKS[0])
    assert seen == [((1, SMALL), {"more": 2}), ((), {})]
    with pytest.raises(TypeError):
        job.own.around(lambda given: None)()
