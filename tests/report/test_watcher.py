"""The process beside the job: what it makes of heartbeats and of processes, and that it goes when they do."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fsdp2_lint.report.codec import moment_as_json
from fsdp2_lint.report.hangs.beats import SIZE, BeatFile, beat_of
from fsdp2_lint.report.hangs.dumps import dump_of, own_frames, place_of, waits
from fsdp2_lint.report.hangs.layers import Layers, layers_as_json, layers_from_json
from fsdp2_lint.report.watcher.node import Local, Node
from fsdp2_lint.report.watcher.processes import born, state
from fsdp2_lint.report.watcher.start import start
from fsdp2_lint.vocab.finding import Moment, Site
from tests.report.ranks import site

LAYERS = Layers("/libs/torch", ("/libs/fsdp2_lint",), ("/python",))
PATIENCE = 10.0


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(1200):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail("it never came")


def stands(pid: int, **more: Any) -> dict[str, Any]:
    own = {"rank": 0, "thread": 7, "pid": pid, "born": born(pid), "time": 100.0, "since": 90.0, "state": "running"}
    where = moment_as_json(Moment(site(9), (site(5),)))
    return {**own, **where, "by": "barrier()", "waits": False, "issued": [["world", "0-1", 3, False]], **more}


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as started:
        yield started
        started.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "node").mkdir()
    return tmp_path / "node"


def records(folder: Path) -> list[dict[str, Any]]:
    path = folder.parent / "rank0.seen"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kinds(folder: Path) -> list[tuple[str, str]]:
    return [(each["record"], each.get("how", "")) for each in records(folder)]


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    until(lambda: state(process.pid, "") == "gone")  # nobody has asked for its end yet


# Heartbeats.


def test_a_beat_comes_back_and_is_bounded(tmp_path: Path) -> None:
    file = BeatFile(tmp_path / "rank0.beat")
    file.write(**stands(1))
    beat = beat_of(tmp_path / "rank0.beat")
    assert beat is not None and beat["issued"] == [["world", "0-1", 3, False]]
    many = [[f"group {number}", "0-4095", 1, False] for number in range(1000)]
    file.write(**stands(1, stack=[moment_as_json(Moment(site(1)))["at"]] * 100, issued=many))
    beat = beat_of(tmp_path / "rank0.beat")
    assert beat is not None and (beat["stack"], beat["issued"]) == ([], [])
    assert (tmp_path / "rank0.beat").stat().st_size == SIZE


def test_a_beat_that_is_being_written_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rank0.beat"
    BeatFile(path).write(**stands(1))
    torn = path.read_text().replace('"m": 1', '"m": 2')
    path.write_text(torn)
    assert beat_of(path) is None and beat_of(tmp_path / "none") is None
    path.write_text(torn.replace('"n": 1', '"n": 2').replace('"rank": 0', '"rank": "x"'))
    assert beat_of(path) is None


# What becomes of a rank.


def test_a_rank_that_beats_is_not_spoken_of(folder: Path, process: subprocess.Popen[bytes]) -> None:
    file, rank = BeatFile(folder / "rank0.beat"), Local(folder / "rank0.beat", LAYERS, 0.0)
    for now in range(0, 60, 5):
        file.write(**stands(process.pid))
        rank.look(PATIENCE, float(now))
    file.end()
    rank.look(PATIENCE, 1000.0)
    assert rank.ended and kinds(folder) == []


def test_silence_has_a_reason(folder: Path, process: subprocess.Popen[bytes]) -> None:
    file, rank = BeatFile(folder / "rank0.beat"), Local(folder / "rank0.beat", LAYERS, 0.0)
    file.write(**stands(process.pid))
    rank.look(PATIENCE, 1.0)
    rank.look(PATIENCE, 10.0)
    assert kinds(folder) == []
    rank.look(PATIENCE, 11.0)
    rank.look(PATIENCE, 12.0)
    assert kinds(folder) == [("stall", "held")]
    process.send_signal(signal.SIGSTOP)
    until(lambda: state(process.pid, "") == "stopped")
    rank.look(PATIENCE, 13.0)
    assert kinds(folder)[1:] == [("stall", "stopped")]
    process.send_signal(signal.SIGCONT)
    file.write(**stands(process.pid, time=140.0))
    until(lambda: state(process.pid, "") == "running")
    rank.look(PATIENCE, 14.0)
    assert kinds(folder)[2:] == [("moved_on", "")] and records(folder)[-1]["time"] == 140.0
    kill(process)
    rank.look(PATIENCE, 15.0)
    assert kinds(folder)[3:] == [("gone", "")] and rank.ended
    rank.look(PATIENCE, 25.0)
    rank.look(PATIENCE, 26.0)
    assert kinds(folder)[4:] == [("stall", "gone")]
    assert {each["pid"] for each in records(folder)} == {process.pid}
    assert records(folder)[0]["at"]["location"]["row"] == 9 and records(folder)[0]["since"] == 100.0


@pytest.mark.parametrize("both", [False, True])
def test_who_went_first_is_seen_by_who_is_still_there(folder: Path, both: bool) -> None:
    """Rank 0 is asked before rank 1, of which it is the news that it is gone."""
    ranks = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2)]
    try:
        for rank, each in enumerate(ranks):
            BeatFile(folder / f"rank{rank}.beat").write(**stands(each.pid))
        node = Node(folder, PATIENCE, LAYERS)
        node.look(1.0)
        for killed in ([0, 1] if both else [1], [0]):
            for rank in killed:
                kill(ranks[rank])
            node.look(2.0)
    finally:
        for each in ranks:
            each.kill()
            each.communicate()
    (rank0,) = records(folder)
    (rank1,) = [json.loads(line) for line in (folder.parent / "rank1.seen").read_text().splitlines()]
    assert rank1["alive"] < rank1["time"] and (rank0["alive"] < rank1["time"]) is both


def test_who_ends_at_once_has_gone_on_in_the_end(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """No beat came between the one before it stood still and the last."""
    rank = Local(folder / "rank0.beat", LAYERS, 0.0)
    file = BeatFile(folder / "rank0.beat")
    file.write(**stands(process.pid))
    for now in (1.0, 20.0):
        rank.look(PATIENCE, now)
    file.end()
    rank.look(PATIENCE, 21.0)
    assert kinds(folder) == [("stall", "held"), ("moved_on", "")]
    assert records(folder)[1]["time"] > 1000.0, "when it ended, and not when it was last heard of"


def test_who_was_not_watched_is_given_its_time(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """The watcher itself was stopped for a while, and perhaps the whole machine."""
    rank = Local(folder / "rank0.beat", LAYERS, 0.0)
    file = BeatFile(folder / "rank0.beat")
    file.write(**stands(process.pid))
    rank.look(PATIENCE, 1.0)
    rank.excuse(500.0)
    rank.look(PATIENCE, 509.0)
    assert kinds(folder) == []
    file.withdraw()
    rank.look(PATIENCE, 900.0)
    assert not rank.ended
    kill(process)
    rank.look(PATIENCE, 901.0)
    assert rank.ended and kinds(folder) == []


def test_another_process_of_the_same_number_is_not_the_rank(process: subprocess.Popen[bytes]) -> None:
    assert state(process.pid, born(process.pid)) == "running"
    assert state(process.pid, str(int(born(process.pid)) + 1)) == "gone"


# What the interpreter writes without its lock.

DUMP = """\
Timeout (0:00:05)!
Thread 0x0000000000000007 (most recent call first):
  File "/libs/torch/nn/modules/linear.py", line 30 in forward
  File "/job/m\\xf6del.py", line 12 in forward
  File "/job/train.py", line 40 in main
  File "/libs/fsdp2_lint/runtime/launch/script.py", line 60 in run_script
  File "/usr/bin/torchrun", line 7 in <module>

Current thread 0x0000000000000009 [loader] (most recent call first):
  File "/python/threading.py", line 3 in wait
"""


def test_the_place_in_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "rank0.held"
    path.write_text(DUMP)
    dump = dump_of(path)
    assert dump is not None and dump.why == "Timeout (0:00:05)!" and dump.current == 9
    frames = own_frames(dump, 7, LAYERS)
    assert place_of(frames, LAYERS) == Moment(Site("/job/mödel.py", 12), (Site("/job/train.py", 40),))
    assert not waits(frames, LAYERS)
    assert place_of(own_frames(dump, 1, LAYERS), LAYERS) is None  # of a thread that nobody knows: the current one
    path.write_text(DUMP.replace("nn/modules/linear.py", "distributed/barrier.py"))
    inside = dump_of(path)
    assert inside is not None and waits(own_frames(inside, 7, LAYERS), LAYERS)
    path.write_text("")
    assert dump_of(path) is None and layers_from_json(layers_as_json(LAYERS)) == LAYERS


# The process itself.


def lives(folder: Path) -> bool:
    """Its lock is held as long as it lives."""
    with (folder / "lock").open("w") as lock:
        return _is_held(lock.fileno())


def _is_held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def begin(folder: Path) -> None:
    start(folder, LAYERS, patience=PATIENCE, select=["FSDP"], ignore=[], watch=False)


def children() -> dict[str, str]:
    """What a script meets that waits for its own: numbers and command lines."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found[path.name] = (path / "cmdline").read_text()
    return found


def test_there_is_one_and_it_ends_with_the_ranks(folder: Path, process: subprocess.Popen[bytes]) -> None:
    BeatFile(folder / "rank0.beat").write(**stands(process.pid))
    begin(folder)
    assert lives(folder)
    begin(folder)
    assert str(process.pid) in children() and not any("watcher.loop" in command for command in children().values())
    process.kill()
    process.wait()
    until(lambda: not lives(folder))
    assert kinds(folder) == [("gone", "")]  # once: by one watcher


def test_it_ends_when_all_have_said_so(folder: Path, process: subprocess.Popen[bytes]) -> None:
    file = BeatFile(folder / "rank0.beat")
    file.write(**stands(process.pid))
    begin(folder)
    file.end()
    until(lambda: not lives(folder))
    assert kinds(folder) == []


def test_it_ends_when_its_folder_is_gone(tmp_path: Path, folder: Path, process: subprocess.Popen[bytes]) -> None:
    BeatFile(folder / "rank0.beat").write(**stands(process.pid))
    begin(folder)
    with (folder / "lock").open("r+b") as lock:
        shutil.rmtree(folder)
        process.kill()
        process.wait()
        until(lambda: not _is_held(lock.fileno()))


def test_it_cannot_be_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(folder / "none"))
    with pytest.raises(OSError, match="none"):
        begin(folder)
    assert not lives(folder)
