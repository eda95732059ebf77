"""Rank 0 waits for whoever is at work, and for nobody who is dead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsdp2_lint.report import waiting
from fsdp2_lint.report.folders import launch_id
from fsdp2_lint.report.rank_file import RankFile
from fsdp2_lint.report.waiting import Waiting
from fsdp2_lint.report.watcher.processes import state


@pytest.fixture
def alive() -> Iterator[int]:
    """A process that does nothing."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child.pid
    child.kill()
    child.communicate()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.1)
    monkeypatch.setattr(waiting, "FAR", 0.1)


def rank(folder: Path, number: int, pid: int, host: str = "", launch: str = "another") -> RankFile:
    file = RankFile(folder, number)
    file.write("start", rank=number, pid=pid, host=host or socket.gethostname(), launch=launch)
    return file


def wait(folder: Path, began: float = 0.0, *, token: str = "t", failed: bool = False) -> list[str]:
    said: list[str] = []
    Waiting(folder, token, range(1, 3), began).wait(failed=failed, say=said.append)
    return said


def end(file: RankFile, number: int, token: str = "t") -> None:
    file.write("end", code=0, time=time.time(), rank=number, token=token)


def test_all_have_ended(tmp_path: Path, alive: int) -> None:
    for number in (1, 2):
        end(rank(tmp_path, number, alive), number)
    assert wait(tmp_path) == []


def test_as_long_as_one_is_at_work(tmp_path: Path, alive: int) -> None:
    """Much longer than what a dead one is given; who reads this knows what it waits for."""
    end(rank(tmp_path, 1, alive), 1)
    late = rank(tmp_path, 2, alive)
    threading.Timer(1.0, end, (late, 2)).start()
    since = time.monotonic()
    assert wait(tmp_path) == ["the report waits for rank 2"] and time.monotonic() - since >= 0.9


@pytest.mark.parametrize("who", ["dead", "far away", "silent", "of an earlier run", "of this launch"])
def test_who_may_never_say_anything(tmp_path: Path, alive: int, who: str) -> None:
    """It would be waited for without an end if it counted as alive."""
    folder, began = tmp_path, 0.0
    end(rank(folder, 1, alive), 1)
    if who == "dead":
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        rank(folder, 2, gone.pid)
    elif who == "far away":
        rank(folder, 2, alive, "another-node")
    elif who == "of this launch":  # a daemon that this process started lives as long as it does
        rank(folder, 2, alive, launch=launch_id())
    elif who == "of an earlier run":
        old = rank(folder, 2, alive)
        os.utime(old.path, (1, 1))
        began = time.time() - 1
    assert wait(folder, began) in ([], ["the report waits for rank 2"])


def test_a_job_that_failed_is_not_waited_for(tmp_path: Path, alive: int) -> None:
    rank(tmp_path, 1, alive)
    assert wait(tmp_path, failed=True) == []


def test_the_end_of_another_run(tmp_path: Path, alive: int) -> None:
    """In the same folder, without an id of its own: neither another group nor an earlier one has ended for this."""
    for number, token in ((1, "t"), (2, "another")):
        end(rank(tmp_path, number, os.getpid()), number, token)
    assert wait(tmp_path) == ["the report waits for rank 2"] or wait(tmp_path) == []
    assert Waiting(tmp_path, "t", range(1, 3), 0.0)._missing() == (2,)
    assert Waiting(tmp_path, "t", range(1, 3), time.time() + 1)._missing() == (1, 2)


def test_a_process_that_nobody_asked_for_its_code() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 30
    while state(child.pid, "") != "gone" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state(child.pid, "") == "gone" and state(os.getpid(), "") == "running"
    child.wait()
