"""The command as a process: streams that are full, closed or left by their reader, and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = [sys.executable, "-m", "fsdp2_lint"]
CONSOLE_SCRIPT = [sys.executable, "-c", "import sys; from fsdp2_lint.__main__ import main; sys.exit(main())"]


def check(*arguments: str, stdout: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*TOOL, "check", *arguments], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE)


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"bad{number}.py").write_text("def f(:\n")
    read, write = os.pipe()
    os.close(read)
    process = check(*map(str, tmp_path.glob("*.py")), stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.decode() == "Found 300 errors in 300 files.\n"


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.py").write_text("def f(:\n")
    return str(tmp_path / "bad.py")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_one_clear_line(bad: str) -> None:
    with open("/dev/full", "wb") as full:
        process = check(bad, stdout=full.fileno())
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.decode() == "error: stdout: cannot be written: No space left on device\n"


@pytest.fixture
def closed() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command without some of its streams, as a shell does for ``>&-``."""

    def run(arguments: Sequence[str], *without: str) -> subprocess.CompletedProcess[str]:
        shell = ["sh", "-c", f'exec "$@" {" ".join(without)}', "sh", *TOOL, *arguments]
        return subprocess.run(shell, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    return run


Closed = Callable[..., "subprocess.CompletedProcess[str]"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell and signals")


@posix
@pytest.mark.parametrize("arguments", [["check"], ["rules"], ["explain", "FSDP601"], ["check", "--show-files"]])
def test_results_for_a_closed_stdout_are_said_to_be_lost(closed: Closed, bad: str, arguments: list[str]) -> None:
    ran = closed([*arguments, bad] if "check" in arguments else arguments, ">&-")
    assert (ran.returncode, ran.stderr) == (2, "error: stdout: cannot be written: it is closed\n")


@posix
def test_what_goes_into_a_file_needs_no_stdout(closed: Closed, bad: str, tmp_path: Path) -> None:
    ran = closed(["check", bad, "-o", str(tmp_path / "out.txt")], ">&-")
    assert (ran.returncode, ran.stderr) == (1, "Found 1 error in 1 file.\n")
    assert (tmp_path / "out.txt").read_text().startswith("FSDP000 error")


@posix
def test_findings_need_no_stderr(closed: Closed, bad: str) -> None:
    ran = closed(["check", bad], "2>&-")
    assert ran.returncode == 1 and ran.stdout.startswith("FSDP000 error")


@posix
@pytest.mark.parametrize(
    ("arguments", "without", "stream"),
    [(["check", "-"], "<&-", "stdin"), (["server"], ">&-", "stdout"), (["mcp"], ">&-", "stdout")],
)
def test_a_command_that_needs_a_closed_stream_says_so(
    closed: Closed, arguments: list[str], without: str, stream: str
) -> None:
    ran = closed(arguments, without)
    assert (ran.returncode, ran.stderr) == (2, f"error: {stream} is closed, and this command needs it\n")


@posix
@pytest.mark.parametrize("command", [TOOL, CONSOLE_SCRIPT], ids=["module", "console script"])
def test_what_is_interrupted_ends_by_the_signal(command: list[str]) -> None:
    """A shell ends its loop then; after a mere code it goes on."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*command, "check", "-"], cwd=ROOT, **pipes)
    assert process.stdin is not None
    process.stdin.write(b"#" * 1_000_000)  # more than a pipe holds: behind it, the command is reading
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.decode().strip()) == (-signal.SIGINT, b"", "error: interrupted")
