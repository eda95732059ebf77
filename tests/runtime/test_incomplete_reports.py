"""A report that is cut is not clean, and nobody is told that nothing was found."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.commands import GOOD, REPORT, STALE, command, job_folder

pytestmark = pytest.mark.torchrun
SLOW = pytest.mark.slow  # rank 0 waits for last words that do not come

# What a full disk does to writing; a limit needs no file system of its own.
FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "room"), [(GOOD, 1000), pytest.param(GOOD, 6000, marks=SLOW), pytest.param(STALE, 1500, marks=SLOW)]
)
def test_a_full_disk(tmp_path: Path, program: str, room: int) -> None:
    """The job goes on, each rank says it once, and the report is not clean."""
    cut = program.replace("model = ", FULL.replace("ROOM", str(room)) + "model = ", 1)
    (tmp_path / "train.py").write_text(cut)
    ran = command(tmp_path, "run", "--check", "train.py")
    assert ran[0].code == 2, ran[0].err
    for rank, each in enumerate(ran):
        assert each.err.count(f"fsdp2-lint: rank {rank} can write no more of its report: File too large") == 1
    told = "The report is not complete: nothing was found on 2 ranks in"
    assert told in ran[0].err and "No findings" not in ran[0].err
    assert "warning: the report of ranks 0-1 has no end" in ran[0].err


def test_a_process_that_leaves_at_once(tmp_path: Path) -> None:
    """``os._exit`` is a way to end: the code is known, and nothing is missing."""
    (tmp_path / "train.py").write_text(GOOD + "dist.barrier()\nos._exit(0)\n")
    assert [each.code for each in command(tmp_path, "run", "--check", "train.py")] == [0, 0]
    (ran,) = command(tmp_path, "report", REPORT, ranks=1)
    assert (ran.code, ran.err) == (0, "No findings on 2 ranks in 3 training steps.\n")


@pytest.mark.slow
def test_a_rank_that_is_killed_when_it_is_done(tmp_path: Path) -> None:
    """Of a good job, whose other rank ends well: what the one would have said is not known."""
    kill = "import signal\ndist.barrier()\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "train.py").write_text(GOOD + kill)
    ran = command(tmp_path, "run", "--check", "train.py")
    assert [each.code for each in ran] == [2, -9], ran[0].err
    assert "The report is not complete: nothing was found on 2 ranks in 3 training steps so far." in ran[0].err
    (exit_zero,) = command(tmp_path, "report", "--exit-zero", REPORT, ranks=1)
    assert (exit_zero.code, "No findings" in exit_zero.err) == (0, False)


@pytest.mark.slow
def test_a_report_that_is_read_while_the_job_runs(tmp_path: Path) -> None:
    """As it would look then: the ranks have closed what is watched, and train on."""
    (tmp_path / "train.py").write_text(GOOD)
    command(tmp_path, "run", "--check", "train.py")
    for path in job_folder(tmp_path).glob("*.jsonl"):
        path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines() if '"record":"end"' not in line))
    (ran,) = command(tmp_path, "report", str(job_folder(tmp_path)), ranks=1)
    assert ran.code == 2 and "The report is not complete: nothing was found on 2 ranks in 3 training" in ran.err
