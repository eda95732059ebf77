"""Jobs of several gloo ranks for tests: a program on disk is run under ``run --check``, and its report is read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fsdp2_lint import registry
from fsdp2_lint.report.job import JobReport, read_job
from fsdp2_lint.runtime.ranks import Outcome, run_ranks
from fsdp2_lint.vocab.finding import Finding
from tests.pages.harness import Mark


@dataclass(frozen=True)
class Job:
    """What became of a program: the merged report, each rank's outcome, and what was printed."""

    report: JobReport
    outcomes: list[Outcome]
    folder: Path

    @property
    def findings(self) -> list[Finding]:
        return self.report.findings

    def output(self, rank: int = 0) -> str:
        return (self.folder / f"rank{rank}.txt").read_text(errors="replace")

    def marks(self, root: Path) -> set[Mark]:
        return {
            Mark(
                Path(each.primary.site.path).relative_to(root.resolve()).as_posix(),
                each.primary.site.row,
                each.severity.value,
                each.code,
            )
            for each in self.findings
        }


def run_program(
    script: Path,
    folder: Path,
    *arguments: object,
    ranks: int = 2,
    steps: int = 3,
    timeout: float = 60.0,
    stall_after: float = 10.0,
) -> Job:
    """Run ``script`` on gloo ranks, each under the hooks; reports and output go to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    work = (str(script), [str(each) for each in arguments], str(folder), steps, stall_after)
    # A timeout of the group's own, so that a hang ends as an error.
    outcomes = run_ranks(_watched, ranks, *work, timeout=timeout, environment={"FSDP2_LINT_DEBUG": ""})
    return Job(read_job(folder, registry.rules()), outcomes, folder)


def _watched(script: str, arguments: list[str], folder: str, steps: int, stall_after: float) -> None:
    from fsdp2_lint.runtime.script import run_script
    from fsdp2_lint.runtime.session import Options

    _redirect(Path(folder) / f"rank{os.environ['RANK']}.txt")
    os.chdir(folder)
    sys.path.insert(0, "")  # what a script's folder replaces
    options = Options(steps, select=("ALL",), stall_after=stall_after)
    raise SystemExit(run_script(script, arguments, options, Path(folder), live=False))


def _redirect(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
