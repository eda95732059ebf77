"""Jobs of several gloo ranks for tests: a program on disk is run under ``run --check``, and its report is read."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import fsdp2_lint
from fsdp2_lint.catalogue import registry
from fsdp2_lint.report.job import read_job
from fsdp2_lint.report.outcome import JobReport
from fsdp2_lint.runtime.launch.ranks import Outcome, run_ranks
from fsdp2_lint.vocab.finding import Finding
from tests.pages.harness import Mark

OWN = os.path.dirname(fsdp2_lint.__file__)


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
        return marks_of(self.findings, root)


def marks_of(findings: Iterable[Finding], root: Path) -> set[Mark]:
    """What was found, as the comments in the programs of a page would say it."""
    return {
        Mark(
            Path(each.primary.site.path).relative_to(root.resolve()).as_posix(),
            each.primary.site.row,
            each.severity.value,
            each.code,
        )
        for each in findings
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
    from fsdp2_lint.runtime.launch.program import Program
    from fsdp2_lint.runtime.launch.script import run_script
    from fsdp2_lint.runtime.session import Options

    _redirect(Path(folder) / f"rank{os.environ['RANK']}.txt")
    os.chdir(folder)
    sys.path.insert(0, "")  # what a script's folder replaces
    options = Options(steps, select=("ALL",), stall_after=stall_after)
    raise SystemExit(run_script(Program(script, tuple(arguments)), options, Path(folder), live=False))


def run_bare(script: Path, folder: Path, *arguments: object, ranks: int = 2, timeout: float = 60.0) -> list[str]:
    """Run ``script`` on gloo ranks as it is, without hooks; what each rank printed."""
    folder.mkdir(parents=True, exist_ok=True)
    work = (str(script), [str(each) for each in arguments], str(folder))
    outcomes = run_ranks(_bare, ranks, *work, timeout=timeout)
    printed = [(folder / f"rank{rank}.txt").read_text() for rank in range(ranks)]
    assert [each.code for each in outcomes] == [0] * ranks, printed
    return printed


def _bare(script: str, arguments: list[str], folder: str) -> None:
    _redirect(Path(folder) / f"rank{os.environ['RANK']}.txt")
    os.chdir(folder)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))
    assert not _hooked()
    runpy.run_path(script, run_name="__main__")
    assert not _hooked()


def _hooked() -> bool:
    """Is a function of torch replaced by one of ours?"""
    import torch

    optimizer = torch.optim.Optimizer
    places = (optimizer.__init__, optimizer.add_param_group, torch.nn.Module.to_empty, torch.save)
    return any(each.__code__.co_filename.startswith(OWN) for each in places)


def _redirect(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
