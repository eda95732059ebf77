"""Nearly all faults that are planted into our own correct projects are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_recall_does_not_sink() -> None:
    """In a process of its own: the runner keeps what it parsed, for all its programs."""
    command = [sys.executable, "-m", "tests.mutation.run", "--at-least", "0.97"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| all |" in done.stdout
