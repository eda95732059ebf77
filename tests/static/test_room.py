"""The thread of an analysis: depth, errors, and memory that is not asked for at each call."""

from __future__ import annotations

import sys
import threading

import pytest

from fsdp2_lint.static import room
from fsdp2_lint.static.room import in_one_block, with_room

CALLS = 20


def deep(calls: int) -> int:
    return deep(calls - 1) + 1 if calls else 0


def below(calls: int) -> None:
    """A loop of calls at that depth."""
    if calls:
        below(calls - 1)
        return
    for _ in range(CALLS):
        deep(0)


def pages_touched(depths: int) -> int:
    resource = pytest.importorskip("resource", reason="Windows does not count pages")
    below(depths)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(depths):
        below(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="how CPython keeps its frames")
def test_no_depth_asks_for_memory_at_each_call() -> None:
    touched: list[int] = []
    for run in (in_one_block(lambda: touched.append(pages_touched(400))), lambda: touched.append(pages_touched(400))):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert touched[0] < 10 * CALLS
    if sys.version_info[:2] in ((3, 11), (3, 12), (3, 13)):
        assert touched[1] > 20 * CALLS, "this Python does not need it any more"


def test_calls_in_calls_beyond_what_python_allows_by_itself() -> None:
    found: list[int] = []
    with_room(lambda: found.append(deep(sys.getrecursionlimit() - 500)))
    assert found[0] >= 30_000
    assert sys.getrecursionlimit() < 30_000


def test_what_is_raised_comes_to_the_caller() -> None:
    def fails() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_room(fails)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_never_began_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no memory for the block of frames: the thread ends before any of our code runs."""

    def none_left(work: object) -> object:
        def fails() -> None:
            raise MemoryError

        return fails

    monkeypatch.setattr(room, "in_one_block", none_left)
    done: list[int] = []
    with pytest.raises(MemoryError, match="frames of the analysis"):
        with_room(lambda: done.append(1))
    assert not done
