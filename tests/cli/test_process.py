"""The command as a process: streams that are full or left by their reader, and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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


posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell and signals")


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
