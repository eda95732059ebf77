"""A function on N gloo ranks, with its contract checked: for the tests of people who train with FSDP2."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch.distributed as dist

from ..catalogue import registry
from ..catalogue.codes import PREFIX
from ..report.codec import finding_as_json, finding_from_json
from ..report.findings import merge
from ..report.folders import choose
from ..report.job import read_job
from ..vocab.finding import Finding
from .api import Check, check
from .launch.ranks import run_ranks


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """``results`` has what each rank returned, ``errors`` the tracebacks of those that failed, by rank."""

    results: list[Any]
    errors: Mapping[int, str]
    findings: list[Finding]

    def assert_clean(self) -> None:
        """Fail where a rank failed or where a rule is violated, with all findings in the message."""
        problems = [f"rank {rank} failed:\n{text}" for rank, text in self.errors.items()]
        for finding in self.findings:
            problems.append(
                f"{finding.primary.site}: {finding.code} {finding.severity.value} {finding.message} [{finding.name}]\n"
                f"  help: {finding.help}"
            )
        if problems:
            raise AssertionError("\n".join(problems))


def run_checked(
    work: Callable[..., Any],
    *args: Any,
    world_size: int = 2,
    steps: int = 0,
    select: tuple[str, ...] = (PREFIX,),
    ignore: tuple[str, ...] = (),
    timeout: float = 120.0,
    stall_after: float = 10.0,
) -> CheckedRun:
    """Call ``work(*args)`` on ``world_size`` ranks of one gloo group, which exists already when it is called.

    ``work``, its arguments and its result have to be picklable. ``steps`` is the number of
    optimizer steps that are watched, 0 for all; ``timeout`` is in seconds, for the whole run, and
    ``stall_after`` the seconds that ranks may wait for each other.
    """
    # What a rank did that hangs, or is killed, is in its report only.
    with tempfile.TemporaryDirectory(prefix="fsdp2-lint-", ignore_cleanup_errors=True) as folder:
        given = (steps, select, ignore, folder, stall_after)
        outcomes = run_ranks(_checked, world_size, work, args, *given, timeout=timeout)
        reported = _reported(Path(folder), select, ignore)
    said = [outcome.result or _Said() for outcome in outcomes]
    findings = [(rank, finding_from_json(each)) for rank, own in enumerate(said) for each in own.findings]
    findings += [(0, finding) for finding in reported]
    errors = {
        outcome.rank: own.error or outcome.error or f"ended with exit code {outcome.code}"
        for outcome, own in zip(outcomes, said)
        if own.error or outcome.code
    }
    return CheckedRun([own.result for own in said], errors, merge(findings))


def _reported(folder: Path, select: Sequence[str], ignore: Sequence[str]) -> list[Finding]:
    """What the ranks wrote down, side by side; nothing where none of them came so far."""
    rules, selection = registry.select(registry.rules(), select, ignore)
    try:
        report = read_job(choose(folder).folder, rules)
    except FileNotFoundError:
        return []
    return [finding for finding in report.findings if selection.shows(finding)]


@dataclass(slots=True)
class _Said:
    """What one rank sends back. What it found may be why it failed."""

    result: Any = None
    findings: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""


def _checked(
    work: Callable[..., Any],
    args: tuple[Any, ...],
    steps: int,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    folder: str,
    stall_after: float,
) -> _Said:
    said = _Said()
    watched: Check | None = None
    dist.init_process_group("gloo")
    try:
        with check(steps=steps, select=select, ignore=ignore, report_dir=folder, stall_after=stall_after) as watched:
            said.result = work(*args)
    except BaseException as error:
        said.error = "".join(traceback.format_exception(error))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    said.findings = [finding_as_json(each) for each in watched.findings] if watched is not None else []
    return said
