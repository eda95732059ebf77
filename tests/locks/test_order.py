"""What is said of a program depends on its files alone: not on order, folder, hash seed, clock or other programs."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request, Result
from fsdp2_lint.vocab.finding import Finding
from tests.locks.programs import daily
from tests.pages import harness
from tests.static.program import limited, script

ROOT = "/program"
FACTS = ("code", "message", "severity", "filename", "location", "related", "fingerprint")
REPOSITORY = Path(__file__).parents[2]
IDLE = "from torch.distributed.fsdp import fully_shard\n\n" + "".join(f"x{at} = {at}\n" for at in range(400))
BUSY = script("""\
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    fully_shard(model)
    for batch in torch.load("batches.pt"):
        model(batch).sum().backward()
        optimizer.step()
""")
HEAVY = IDLE + "".join(f"y{at} = {at}\n" for at in range(1_500)) + "fully_shard(y1)\n"
LIGHT = {"a_idle.py": IDLE, "b_busy.py": BUSY, "y_idle.py": IDLE, "z_busy.py": BUSY}


@cache
def programs() -> dict[str, Mapping[str, str]]:
    """The programs of all pages of clauses that are seen in the source."""
    return {
        f"{rule.code}-{number}": each.files
        for rule in registry.rules()
        if "S" in rule.judged_by
        for number, each in enumerate(harness.programs(registry.page(rule)), 1)
    }


def some(one_in: int) -> list[str]:
    """The same programs each time."""
    return [name for name in programs() if hashlib.sha256(name.encode()).digest()[0] % one_in == 0]


def analyse(files: Mapping[str, str], *, turned: bool = False) -> Result:
    overlay = {f"{ROOT}/{name}": text.encode() for name, text in files.items() if name.endswith(".py")}
    return check(Request(files=sorted(overlay, reverse=turned), root=ROOT, overlay=overlay, rules=registry.rules()))


def inside(files: Mapping[str, str], folder: str = "mine") -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def said(result: Result, folder: str = "mine") -> tuple[list[Finding], list[object]]:
    """What concerns the program in the folder: findings as they are, models with their verdicts."""
    prefix = f"{ROOT}/{folder}/"
    findings = [each for each in result.findings if each.primary.site.path.startswith(prefix)]
    models = [each for each in result.models if each.site.path.startswith(prefix)]
    return sorted(findings, key=repr), sorted(models, key=repr)


@pytest.mark.parametrize("name", daily(some(4)))
def test_other_programs_beside_it_and_the_order_of_files(name: str) -> None:
    mine = inside(programs()[name])
    alone = said(analyse(mine))
    assert said(analyse({**mine, **LIGHT}, turned=True)) == alone


@pytest.mark.parametrize("name", daily(some(40)))
def test_heavy_programs_beside_it(name: str) -> None:
    """Each of them spends a budget of its own, before and after it."""
    mine = inside(programs()[name])
    with limited(script_unsharded=3_000, far_unsharded=3_000):
        alone = said(analyse(mine))
        beside = analyse({**mine, **{f"{first}_heavy.py": HEAVY for first in "abyz"}})
    assert said(beside) == alone
    assert len(beside.out_of_budget) == 4, "or they are not heavy"


@pytest.mark.parametrize("name", daily(some(10)))
def test_the_clock_decides_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = inside(programs()[name])
    quiet = analyse(mine)
    busy = itertools.count(step=7)
    for clock in ("thread_time", "process_time", "perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, clock, lambda: float(next(busy)))
    noisy = analyse(mine)
    assert said(noisy) == said(quiet) and noisy.out_of_budget == quiet.out_of_budget


def test_the_last_resort_says_nothing_of_the_program() -> None:
    """All its verdicts are unknown, nothing that was found in it is said, and the other programs are as they were."""
    files = {"mine/train.py": BUSY.replace("def main():\n", "def main():\n" + "    x = 1\n" * 300)}
    whole = analyse(files)
    assert whole.findings and whole.models
    with limited(seconds=-1):
        result = analyse(files)
    assert not result.findings
    assert {clause.word for model in result.models for clause in model.rules} <= {"unknown"}
    assert any("CPU time" in each for each in result.out_of_budget)


def told(folder: Path, *files: str, seed: str = "0", at: str = ".") -> bytes:
    """The findings as JSON, from a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
    ran = subprocess.run(
        [sys.executable, "-m", "fsdp2_lint", "check", "--output-format", "json", *files],
        cwd=folder / at, capture_output=True, env=environment, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_hash_seed_order_and_working_folder(tmp_path: Path) -> None:
    folder = REPOSITORY / "examples" / "broken" / "optimizer_before_sharding"
    names = sorted(path.name for path in folder.glob("*.py"))
    for name in names:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "below").mkdir()
    first = told(tmp_path, *names)
    for seed in ("1", "2", "random"):
        assert told(tmp_path, *names, seed=seed) == first
    assert told(tmp_path, *reversed(names)) == first

    elsewhere = json.loads(told(tmp_path, *(f"../{name}" for name in names), at="below"))
    for here, there in zip(json.loads(first), elsewhere, strict=True):  # what to do next is told as paths from here
        assert {key: here[key] for key in FACTS} == {key: there[key] for key in FACTS}
