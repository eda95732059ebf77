"""Ranks that keep the others waiting in all ways there are: said while the job hangs, and a note once it has gone on.

The programs hold a rank until the line has been said, so nothing here depends on how fast the machine is.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.report.rank_file import records
from fsdp2_lint.runtime.hangs import stacks
from tests.runtime.commands import HEAD, row
from tests.runtime.jobs import Job, run_program

pytestmark = pytest.mark.torchrun

START = (
    HEAD.replace(
        "import os\n", "import ctypes\nimport os\nimport pathlib\nimport signal\nimport threading\nimport time\n"
    )
    + """\
def wait_until(is_so):
    for _ in range(900):
        if is_so():
            return
        time.sleep(0.05)


def told():
    return any("FSDP803" in path.read_text() for path in pathlib.Path().glob("rank*.txt"))


def both_stand():
    return all('"record":"stall"' in path.read_text() for path in pathlib.Path().glob("rank?.jsonl"))


def seen_at(row):
    return any(f'"row": {row},' in path.read_text() for path in pathlib.Path().glob("node-*/rank1.beat"))


def seen_here():
    # Has the own heartbeat come while this thread waits there?
    return seen_at(sys._getframe(2).f_lineno)


def beside(act):
    if os.fork() == 0:
        act()
        os._exit(0)


def stand():
    # In one line until it is told: who asks again and again is met in another one each time.
    until, go = os.pipe()
    beside(lambda: (wait_until(told), os.write(go, b"x")))
    os.read(until, 1)


held = pathlib.Path("held")  # rank 0 waits for it, so that it is not kept waiting before rank 1 is held


model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
)
END = "dist.barrier()\ndist.destroy_process_group()\n"

HELD_UP = {
    "stopped": (
        """\
train(model, optimizer, steps=4)
if rank == 1:
    parent, row = os.getpid(), sys._getframe().f_lineno + 12
    come, go = os.pipe()

    def stop():
        wait_until(lambda: seen_at(row))
        os.kill(parent, signal.SIGSTOP)
        held.touch()
        wait_until(told)
        os.kill(parent, signal.SIGCONT)
        os.write(go, b"x")

    beside(stop)
    os.read(come, 1)
else:
    wait_until(held.exists)
"""
        + END,
        "    os.read(come, 1)",
        "rank 1 was stopped by a signal and did not arrive while rank 0 waited",
    ),
    "in C code that holds the lock": (
        """\
train(model, optimizer, steps=4)
if rank == 1:
    come, go = os.pipe()
    beside(lambda: (wait_until(told), os.write(go, b"x")))
    wait_until(seen_here)  # its last heartbeat tells what it has issued
    held.touch()
    ctypes.PyDLL(None).read(come, ctypes.create_string_buffer(1), 1)
else:
    wait_until(held.exists)
"""
        + END,
        "    ctypes.PyDLL",
        "rank 1 runs no Python any more and did not arrive while rank 0 waited",
    ),
    "while the other one asks": (
        """\
train(model, optimizer, steps=4)
if rank == 1:
    stand()
    dist.all_reduce(torch.ones(1))
else:
    work = dist.all_reduce(torch.ones(1), async_op=True)
    while not work.is_completed():
        time.sleep(0.01)
"""
        + END,
        "    os.read(until, 1)",
        "rank 1 issued fewer collectives than rank 0, and nobody went further",
    ),
    "in a thread": (
        """\
def loop():
    train(model, optimizer, steps=4)
    if rank == 1:
        stand()
    dist.barrier()


thread = threading.Thread(target=loop)
thread.start()
thread.join()
dist.destroy_process_group()
""",
        "    os.read(until, 1)",
        "rank 1 did not arrive while rank 0 waited",
    ),
}


def run(folder: Path, program: str, **options: float) -> Job:
    (folder / "train.py").write_text(START + program)
    return run_program(folder / "train.py", folder / "report", stall_after=1.0, **options)  # type: ignore[arg-type]


def said(job: Job) -> list[str]:
    """What was said while the job ran, by the watcher or by a rank."""
    return [line for rank in (0, 1) for line in job.output(rank).splitlines() if line.startswith("fsdp2-lint:")]


@pytest.mark.slow  # each is held up for as long as its rank stands still
@pytest.mark.parametrize("name", HELD_UP)
def test_said_at_once_and_a_note_in_the_end(tmp_path: Path, name: str) -> None:
    program, text, words = HELD_UP[name]
    job = run(tmp_path, program)
    place = f"{tmp_path / 'train.py'}:{row(START + program, text)}"
    first, *more = said(job)
    assert first.startswith(f"fsdp2-lint: {place}: FSDP803 error {words}"), job.output()
    assert job.findings == [] and job.report.exit_code == 0
    (note,) = job.report.pauses
    assert note in job.report.notes and "rank 1 kept rank 0 waiting for" in note and place in note
    assert more in ([], [f"fsdp2-lint: {note}"])  # the job may be over before it was seen to go on


def test_there_is_no_moment_without_a_timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes the interpreter's lock in such a moment, and keeps it, would stand nowhere."""
    armed: list[float] = []
    monkeypatch.setattr(stacks, "_arm_later", lambda seconds, file: armed.append(seconds))
    monkeypatch.setattr(stacks, "_disarm", lambda: pytest.fail("it is disarmed first"))
    with (tmp_path / "rank0.held").open("wb", buffering=0) as file:
        file.write(b"of a beat that was late")
        stacks._arm(0.5, file)
    assert armed == [0.5] and (tmp_path / "rank0.held").read_bytes() == b""


def test_a_rank_that_is_gone(tmp_path: Path) -> None:
    program = """\
train(model, optimizer, steps=4)
if rank == 1:
    wait_until(seen_here)
    held.touch()
    os.kill(os.getpid(), signal.SIGKILL)
wait_until(held.exists)
try:
    dist.barrier()
except RuntimeError:
    wait_until(told)
"""
    job = run(tmp_path, program)
    (finding,) = job.findings
    assert (finding.code, finding.severity.value) == ("FSDP803", "error")
    assert row(START + program, "    wait_until(seen") in {label.site.row for label in finding.related}
    assert finding.message == "rank 1 is gone, and rank 0 went no further for more than 1 seconds"
    assert any("FSDP803" in line for line in said(job))
    (note,) = (note for note in job.report.notes if "was gone" in note)
    assert note.startswith("rank 1 was gone at ") and note.endswith(f" at {finding.primary.site}")


def test_an_abort_in_native_code(tmp_path: Path) -> None:
    program = "train(model, optimizer, steps=2)\nif rank == 1:\n    os.abort()\ndist.barrier()\n"
    job = run(tmp_path, program)
    place = f"{tmp_path / 'train.py'}:{row(START + program, '    os.abort()')}"
    assert f"rank 1 was ended by a signal at {place}: Fatal Python error: Aborted" in job.report.notes, job.report.notes


SILENT = {
    # The groups of messages count what two ranks send, and nobody is behind.
    "a pipeline": """\
train(model, optimizer, steps=4)
for _ in range(3):
    dist.send(torch.ones(1), 1) if rank == 0 else dist.recv(torch.ones(1), 0)
if rank == 0:
    sent = dist.isend(torch.ones(1), 1)
wait_until(both_stand)
time.sleep(1)
sent.wait() if rank == 0 else dist.recv(torch.ones(1), 0)
""",
    # Rank 0 counts a message of each of the others.
    "a monitored barrier": "dist.monitored_barrier()\ntrain(model, optimizer)\nwait_until(both_stand)\ntime.sleep(1)\n",
    "work of all ranks": "train(model, optimizer, steps=4)\nwait_until(both_stand)\ntime.sleep(1)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SILENT)
def test_nobody_is_late(tmp_path: Path, name: str) -> None:
    job = run(tmp_path, SILENT[name] + END)
    for rank in (0, 1):
        own = list(records(job.folder / f"rank{rank}.jsonl"))
        assert any(each["record"] == "stall" for each in own)
    assert said(job) == [] and job.findings == [] and job.report.notes == [], json.dumps(job.report.notes)


@pytest.mark.slow
def test_a_script_that_wants_the_handler_for_itself(tmp_path: Path) -> None:
    """It finds it as it is without us, and what it asks for is written where it wants it."""
    program = """\
import faulthandler

assert not faulthandler.is_enabled()
own = open(f"own{rank}.txt", "w")
faulthandler.enable(own)
faulthandler.dump_traceback_later(0.5, file=own)
train(model, optimizer, steps=2)
wait_until(lambda: "Timeout" in pathlib.Path(own.name).read_text())
assert faulthandler.is_enabled()
dist.barrier()
if rank == 1:
    os.abort()
"""
    job = run(tmp_path, program)
    own = (job.folder / "own1.txt").read_text()
    assert "Timeout (" in own and "Fatal Python error: Aborted" in own, job.output(1)
    assert not [note for note in job.report.notes if "signal" in note]


@pytest.mark.slow
def test_nobody_can_be_started(tmp_path: Path) -> None:
    """The job goes on, and the report says what it lacks."""
    program = """\
train(model, optimizer, steps=4)
reports = [pathlib.Path(f"rank{each}.jsonl") for each in range(2)]
wait_until(lambda: any('"record":"unwatched"' in path.read_text() for path in reports))
"""
    (tmp_path / "train.py").write_text("import sys\nsys.executable = '/nowhere/python'\n" + START + program + END)
    job = run_program(tmp_path / "train.py", tmp_path / "report", stall_after=5.0)
    assert [each.code for each in job.outcomes] == [0, 0] and job.findings == []
    (note,) = job.report.notes
    assert note.startswith("the ranks of a node were not watched from outside: ") and "/nowhere/python" in note
