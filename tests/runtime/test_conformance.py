"""Each clause with two analyses gives the same code on the same line from the source and from a job.

By default, some of the bad programs that only a job can judge run. The others are slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from fsdp2_lint.catalogue import registry
from fsdp2_lint.vocab.behaviour import TESTS_ARE_PARTIAL
from fsdp2_lint.vocab.rule import Rule
from fsdp2_lint.vocab.target import parse
from tests.pages.harness import Mark, Program, marks, programs
from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun
RULES = {rule.code: rule for rule in registry.rules()}
# Bad programs that only some versions of torch make bad: with others there is nothing to be found in the job.
OF_VERSIONS = {("FSDP603", "a NaN test that only one rank sees"): TESTS_ARE_PARTIAL}
ON_GPUS = ('"nccl"', ".cuda(", "torch.cuda.", '"cuda')


def runs_here(program: Program) -> bool:
    return not any(word in text for text in program.files.values() for word in ON_GPUS)


def cases(rule: Rule) -> Iterator[Any]:
    for number, program in enumerate(programs(registry.page(rule)), start=1):
        kind = "good" if program.good else "bad"
        # What is right stays silent in the jobs of `test_correct_*` and `test_good_scripts`, too.
        slow = [pytest.mark.slow] if program.good or "S" in rule.judged_by or not runs_here(program) else []
        yield pytest.param(rule, program, id=f"{rule.name}-{kind}-{number}", marks=slow)


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("rule", "program"), [case for rule in RULES.values() if "R" in rule.judged_by for case in cases(rule)]
)
def test_program(rule: Rule, program: Program, tmp_path: Path) -> None:
    if not runs_here(program):
        pytest.skip("needs CUDA")
    for name, text in program.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ranks = 4 if "get_world_size() // 2" in str(program.files) else 2
    patience = 2.0 if rule.code == "FSDP803" else 10.0  # a test has no time for real ones
    job = run_program(tmp_path / "train.py", tmp_path / "report", ranks=ranks, stall_after=patience)
    if any("ModuleNotFoundError" in crash.error for crash in job.report.crashes):
        pytest.skip("needs a library that the tests do not install")
    only = OF_VERSIONS.get((rule.code, program.title))
    bad = only is None or only.of(parse(torch.__version__))
    marked = {mark for mark in marks(program.files) if bad and "R" in RULES[mark.code].judged_by}
    expected = _places({mark for mark in marked if mark.kind != "related"})
    # A job does not know that one cause is met at several places: it may tell of each of them.
    found = _places(job.marks(tmp_path))
    assert expected <= found <= _places(marked), job.output()
    assert job.report.sharded


def _places(found: set[Mark]) -> set[tuple[str, str, int]]:
    """Code and line: a job may know more of the severity than the source."""
    return {(mark.code, mark.file, mark.row) for mark in found}
