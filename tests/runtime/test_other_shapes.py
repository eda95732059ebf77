"""Rules in shapes that their pages do not have, as jobs: the fault is told, and what looks like it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.catalogue import registry
from tests.runtime.jobs import run_program
from tests.static.shapes.projects import Shape, shapes

pytestmark = [pytest.mark.torchrun, pytest.mark.slow]
# What a hand changes in a group of an optimizer, a job sees at the optimizer.
ELSEWHERE = {"FSDP617"}
EVERY = [
    pytest.param(shape, id=f"{shape.code}-{shape.name}")
    for shape in shapes()
    if not shape.source and "R" in registry.rule(shape.code).judged_by
]


@pytest.mark.parametrize("shape", EVERY)
def test_each_is_told_where_it_is(shape: Shape, tmp_path: Path) -> None:
    for name, text in shape.files.items():
        (tmp_path / name).write_text(text)
    script = tmp_path / ("main.py" if "main.py" in shape.files else "train.py")
    four = "// 2, 2" in "".join(shape.files.values())
    job = run_program(script, tmp_path / "report", ranks=4 if four else 2)
    sites = [each.primary.site for each in job.findings if each.code == shape.code]
    found = sorted((Path(site.path).name, site.row) for site in sites)
    assert bool(found) if shape.code in ELSEWHERE and not shape.correct else found == shape.marked, job.output()
