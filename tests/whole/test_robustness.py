"""Whatever the input, ``check`` ends soon, by its exit codes, without a traceback, and says the same twice.

Small cases run in this process. Those that might exhaust memory or the stack run in their own.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsdp2_lint.cli import invoke
from tests.static.nasty import BYTES, CASES, EXPLODING, FILES, LARGE, STATEMENTS, program

ROOT = Path(__file__).parents[2]
LIMIT = 10  # seconds on a slow machine
MEMORY = 4 << 30


def check(path: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    started = time.monotonic()
    code = invoke(["check", "--output-format", "concise", str(path)])
    took = time.monotonic() - started
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err and "internal error" not in out + err, out + err
    assert code in (0, 1, 2)
    assert took < LIMIT, f"took {took:.1f} s"
    return code, out, err


@pytest.mark.quick(16)
@pytest.mark.parametrize("name", CASES)
def test_small_and_nasty(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(CASES[name], encoding="utf-8", newline="")
    first = check(file, capfd)
    assert check(file, capfd) == first
    assert (first[0] == 1) is ("FSDP" in first[1]), "1 says that there are findings"


def apart(text: str, folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it may run out of memory or stack. ``limit`` is in seconds of its own CPU time."""
    (folder / "train.py").write_text(text, encoding="utf-8")

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))

    ran = subprocess.run(
        [sys.executable, "-m", "fsdp2_lint", "check", "--output-format", "concise", "train.py"],
        cwd=folder, capture_output=True, text=True, timeout=10 * limit, env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=bounded,
    )  # fmt: skip
    if ran.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(ran.args, limit)
    return ran


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", LARGE)
def test_large_and_deep(name: str, tmp_path: Path) -> None:
    ran = apart(LARGE[name], tmp_path, LIMIT)
    assert ran.returncode in (0, 1, 2) and "Traceback" not in ran.stderr, ran.stderr


LONG = ("calls that double", "2,000 steps")  # both are cut, as those of static/test_budget.py are


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in EXPLODING]
)
def test_small_and_exploding(name: str, tmp_path: Path) -> None:
    ran = apart(EXPLODING[name], tmp_path, LIMIT)  # a third of it, on a machine that does nothing else
    assert ran.returncode in (0, 1) and "internal error" not in ran.stderr, ran.stderr


@pytest.mark.slow
def test_three_megabytes_of_code(tmp_path: Path) -> None:
    text = program("m = Net()\nfully_shard(m)\n") + "".join(f"x{i} = {i}\n" for i in range(200_000))
    assert apart(text, tmp_path, 3 * LIMIT).returncode in (0, 1)
    half = text[: len(text) // 2].rpartition("\n")[0]
    assert apart(half, tmp_path, 3 * LIMIT // 2).returncode in (0, 1)


@pytest.mark.parametrize("name", FILES)
def test_several_files(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for file, text in FILES[name].items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert check(tmp_path, capfd) == check(tmp_path, capfd)


@pytest.mark.parametrize("name", BYTES)
def test_encodings(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_bytes(BYTES[name])
    assert check(tmp_path, capfd) == check(tmp_path, capfd)


GOOD = [
    (ROOT / "examples/good/reference.py").read_text(encoding="utf-8"),
    (ROOT / "tests/projects/single_script/train.py").read_text(encoding="utf-8"),
    (ROOT / "tests/projects/model_method/vit.py").read_text(encoding="utf-8"),
]
fuzz = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)


@pytest.mark.slow
@fuzz
@given(lines=st.lists(st.sampled_from(STATEMENTS), max_size=14))
def test_random_programs(lines: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(program("\n".join(lines) or "pass"), encoding="utf-8")
    assert check(tmp_path, capfd) == check(tmp_path, capfd)


@pytest.mark.slow
@fuzz
@given(text=st.sampled_from(GOOD), seed=st.integers(0, 10_000))
def test_mutilated_programs(text: str, seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Lines of correct programs deleted, doubled and moved; some still parse."""
    chance, lines = random.Random(seed), text.splitlines()
    for _ in range(chance.randrange(1, 5)):
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        edit = chance.choice(["delete", "double", "move", "indent"])
        line = lines.pop(at)
        if edit in ("double", "indent"):
            lines.insert(at, line if edit == "double" else f"    {line}")
        if edit in ("double", "move"):
            lines.insert(to, line)
    (tmp_path / "train.py").write_text("\n".join(lines), encoding="utf-8")
    assert check(tmp_path, capfd) == check(tmp_path, capfd)
