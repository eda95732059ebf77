"""What ``scripts/behaviour.py`` writes depends on the programs and on the checker alone, and shows what changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fsdp2_lint.static import dump
from fsdp2_lint.static.domain.events import Step
from tests.locks.behaviour import Case, behaviour, cases
from tests.locks.programs import sample

REPOSITORY = Path(__file__).parents[2]
SOME = sample(cases(), 0.01, lambda case: case.name)
WRITE = """
import sys
from pathlib import Path
from tests.locks.behaviour import cases, save
wanted = sys.argv[2:]
for case in sorted((each for each in cases() if each.name in wanted), key=lambda each: wanted.index(each.name)):
    save(Path(sys.argv[1]), case)
"""


def written(out: Path, names: list[str], *, seed: str, at: Path) -> dict[str, str]:
    """What a process of its own writes, by the names of the files."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-c", WRITE, out, *names], cwd=at, env=environment, check=True, timeout=300)
    return {path.relative_to(out).as_posix(): path.read_text(encoding="utf-8") for path in out.rglob("*.txt")}


@pytest.mark.slow  # several processes, each over many programs
def test_hash_seed_working_folder_and_order(tmp_path: Path) -> None:
    names = [case.name for case in SOME]
    first = written(tmp_path / "first", names, seed="0", at=REPOSITORY)
    assert sorted(first) == sorted(f"{name}.txt" for name in names)
    assert written(tmp_path / "second", names[::-1], seed="1", at=tmp_path) == first


def test_it_tells_of_each_kind_of_program() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
    assert {name.partition("/")[0] for name in names} == {"pages", "examples", "projects", "planted"}
    assert cases([REPOSITORY / "examples"])[-1].name == "repositories/good"


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_no_address_and_no_folder_of_this_machine(case: Case) -> None:
    text = behaviour(case)
    assert re.search(r"^ +0 \w+", text, re.MULTILINE), "or nothing happens in it"
    assert str(REPOSITORY) not in text and "/tmp" not in text
    assert not re.search(r"\b0x[0-9a-f]{6,}|[\0]", text)


def test_one_field_that_differs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in cases() if case.name == "pages/FSDP601-1-bad")
    before, real = behaviour(case), dump.fields_of
    assert behaviour(case) == before

    def other(step: Step) -> list[tuple[str, object]]:
        return [(name, not value if name == "looped" else value) for name, value in real(step)]

    monkeypatch.setattr(dump, "fields_of", other)
    changed = {*behaviour(case).splitlines()} ^ {*before.splitlines()}
    assert changed and all("looped" in line for line in changed)
