"""Progress is for people who watch: never in logs, never in the way of findings."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fsdp2_lint.cli import progress

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "root_only.py"


class Terminal(io.StringIO):
    """Of 30 columns; what is written to it is kept."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return -1


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What is written for a stream when the line is written anew at these seconds."""
    written: list[str] = []
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress.os, "write", lambda to, data: written.append(data.decode()))
    monkeypatch.setattr(progress, "columns", lambda stream: 30)
    monkeypatch.setattr(progress, "_EACH", 1e9)  # the thread writes nothing of itself

    def at(stream: io.StringIO, *seconds: float, quiet: bool = False, what: str = "/job/train.py") -> list[str]:
        times = iter([0.0, *seconds])
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
        with progress.Progress(quiet=quiet) as told:
            for _ in seconds:
                if told.watched:
                    told.show()
                told(what)
        return written

    return at


def test_a_person_sees_what_takes_long(said: Callable[..., list[str]]) -> None:
    clear = "\r\x1b[K"
    assert said(Terminal(), 0.5, 1.0, 7.9) == [f"{clear}1 s: train.py", f"{clear}7 s: train.py", clear]


def test_something_is_said_before_the_first_program(said: Callable[..., list[str]]) -> None:
    assert said(Terminal(), 1.2)[0].endswith("1 s: reading files")


def test_the_line_is_never_wider_than_the_terminal(said: Callable[..., list[str]]) -> None:
    line = said(Terminal(), 1.0, 2.0, what="a" * 200)[1]
    assert len(line.removeprefix("\r\x1b[K")) == 29, "a full line would wrap, and what wrapped would stay"


def test_short_runs_logs_and_quiet_ones_say_nothing(
    said: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(Terminal(), 0.5, 0.9) == []
    assert said(io.StringIO(), 5.0) == []
    assert said(Terminal(), 5.0, quiet=True) == []
    monkeypatch.setenv("TERM", "dumb")
    assert said(Terminal(), 5.0) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_on_a_real_terminal_findings_are_whole() -> None:
    try:
        ours, theirs = os.openpty()
    except OSError as error:  # in a container without /dev/pts
        pytest.skip(f"no terminal can be opened here: {error}")
    code = (
        "import sys; from fsdp2_lint.cli import invoke, progress as p; p.PATIENCE = 0; p._EACH = 0.01;"
        "exit(invoke(sys.argv[1:]))"
    )
    ran = subprocess.Popen(
        [sys.executable, "-c", code, "check", "--no-cache", "--output-format", "concise", str(EXAMPLE)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b"".join(iter(lambda: said_on(ours), b"")).decode()
    out, _ = ran.communicate(timeout=60)
    os.close(ours)
    assert ran.returncode == 1 and out.count(b"\n") == 1 and b"\x1b" not in out
    assert "0 s: " in shown and shown.rstrip().endswith("\x1b[KFound 1 warning in 1 file.")


def said_on(terminal: int) -> bytes:
    """Nothing at its end, which Linux tells as an error."""
    try:
        return os.read(terminal, 10_000)
    except OSError:
        return b""
