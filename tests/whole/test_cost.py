"""What a check costs where there is nothing to find: most files of most projects."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")


def cpu_seconds(*commands: tuple[str, ...]) -> list[float]:
    """CPU time of each process: the least of five runs in turns, since noise only adds and comes in waves."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(5):
        for seen, command in zip(times, commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seen.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [min(seen) for seen in times]


@pytest.mark.slow
@pytest.mark.skipif(RUFF is None, reason="needs ruff to compare with")
def test_a_tree_without_fsdp2_costs_a_third_of_ruff_at_most() -> None:
    assert RUFF is not None
    tree = sysconfig.get_path("stdlib")
    ours, ruff = cpu_seconds(
        (sys.executable, "-m", "fsdp2_lint", "check", tree),
        (RUFF, "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", tree),
    )
    assert ours <= ruff / 3


def test_a_file_without_fsdp2_costs_little_more_than_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_bytes(Path(__file__).read_bytes())
    ours, click = cpu_seconds(
        (sys.executable, "-m", "fsdp2_lint", "check", str(path)), (sys.executable, "-c", "import click")
    )
    assert ours <= click * 2


def test_whether_a_program_with_fsdp2_imports_a_file_is_seen_in_the_text_of_the_others() -> None:
    """Nothing here imports this file, and hundreds of files around it speak of FSDP2.

    It takes 2.5 to 2.7 times as long where nothing else runs; to follow a program would take ten times as long.
    """
    ours, click = cpu_seconds(
        (sys.executable, "-m", "fsdp2_lint", "check", str(Path(__file__))), (sys.executable, "-c", "import click")
    )
    assert ours <= click * 4
