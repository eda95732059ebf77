"""Progress is for people who watch: never in logs, never in the way of findings."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsdp2_lint.cli import progress

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "root_only.py"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *seconds: float) -> str:
    times = iter([0.0, *seconds])
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with progress.Progress() as told:
        for _ in seconds:
            told("/job/train.py")
    return stream.getvalue()


def test_a_person_sees_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = said(monkeypatch, Terminal(), 0.5, 3.2, 7.9)
    assert text.split("\r\x1b[K") == ["", "3 s: train.py", "7 s: train.py", ""], "the line is clean in the end"


def test_short_runs_and_logs_stay_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert said(monkeypatch, Terminal(), 0.5, 1.9) == ""
    assert said(monkeypatch, io.StringIO(), 5.0) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert said(monkeypatch, Terminal(), 5.0) == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_on_a_real_terminal_findings_are_whole(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    code = "import sys; from fsdp2_lint.cli import invoke, progress as p; p.PATIENCE = 0; exit(invoke(sys.argv[1:]))"
    ran = subprocess.run(
        [sys.executable, "-c", code, "check", "--no-cache", "--output-format", "concise", str(EXAMPLE)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        timeout=60,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ran.returncode == 1 and ran.stdout.count(b"\n") == 1 and b"\x1b" not in ran.stdout
    assert "root_only.py" in shown and shown.rstrip().endswith("Found 1 warning in 1 file.")
