"""Each silent fault that was measured is named by a job, and from the source where its clause promises that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.measured.programs import PROGRAMS, expected
from tests.static.program import analyse


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_source_says_it(name: str) -> None:
    findings = analyse(PROGRAMS[name]).result.findings
    found = sorted((each.code, each.primary.site.row) for each in findings if each.severity.value != "info")
    assert found == expected(PROGRAMS[name], "source")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "# job" in PROGRAMS[name]])
def test_the_source_does_not_uphold_what_a_job_sees(name: str) -> None:
    analysis = analyse(PROGRAMS[name])
    told = expected(PROGRAMS[name], "source")
    for code, row in expected(PROGRAMS[name], "job"):
        assert (code, row) in told or "upheld" not in analysis.verdicts(code)


@pytest.mark.torchrun
@pytest.mark.quick(1)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if "# source" not in program])
def test_a_job_says_it(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.runtime.jobs import run_program

    script = tmp_path / "train.py"
    script.write_text(PROGRAMS[name])
    job = run_program(script, tmp_path / "report", ranks=4 if "# ranks: 4" in PROGRAMS[name] else 2)
    findings = [each for each in job.findings if each.severity.value != "info"]
    assert [(each.code, each.primary.site.row) for each in findings] == expected(PROGRAMS[name], "job"), job.output()
    assert "broke down" not in str(job.report.notes), job.report.notes
