"""What a rehearsal can judge, it judges as the page says: the same code on the same line, without a second rank.

Here programs that need CUDA and NCCL run too. Most are slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from fsdp2_lint.catalogue import registry
from fsdp2_lint.static.frontend.pins import pinned_torch
from fsdp2_lint.vocab.rule import Rule
from tests.pages.harness import Mark, Program, marks, programs
from tests.preflight.rehearsals import REAL, rehearsed
from tests.runtime.jobs import marks_of

pytestmark = pytest.mark.torchrun
RULES = {rule.code: rule for rule in registry.rules()}
# Programs whose fault no rehearsal meets, each with the reason.
LEFT_OUT = {
    "collective-mismatch-bad-1": "the order follows from numbers that only ranks of a real job have trained",
    "device-not-set-bad-3": "the mesh selects the GPU of LOCAL_RANK itself before anything is sharded",
    "offload-without-cpu-backend-bad-2": "it offloads only if an environment variable says so, and none is set here",
}


def cases(rule: Rule) -> Iterator[Any]:
    for number, program in enumerate(programs(registry.page(rule)), start=1):
        kind = "good" if program.good else "bad"
        name = f"{rule.name}-{kind}-{number}"
        if name in LEFT_OUT:
            continue
        yield pytest.param(program, id=name, marks=[pytest.mark.slow] if program.good else [])


@pytest.mark.quick(1)
@pytest.mark.parametrize("program", [each for rule in RULES.values() if "P" in rule.judged_by for each in cases(rule)])
def test_program(program: Program, tmp_path: Path) -> None:
    for name, text in program.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    text = str(program.files)
    size = 8 if "(2, 4)" in text else 4 if "get_world_size() // 2" in text else 2
    asked = replace(REAL, target=pinned_torch(tmp_path))  # as if the settings said so
    report = rehearsed(tmp_path / "train.py", tmp_path / "report", size=size, asked=asked)
    if any("ModuleNotFoundError" in stop.why for stop in report.stopped.values()):
        pytest.skip("needs a library that the tests do not install")
    marked = {mark for mark in marks(program.files) if "P" in RULES[mark.code].judged_by}
    expected = _places({mark for mark in marked if mark.kind != "related"})
    found = _places(marks_of(report.findings, tmp_path))
    assert expected <= found <= _places(marked), [*report.notes, *report.stopped.values()]


def _places(found: set[Mark]) -> set[tuple[str, str, int]]:
    """Code and line: a job may know more of the severity than the source."""
    return {(mark.code, mark.file, mark.row) for mark in found}
