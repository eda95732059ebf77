"""A function on N gloo ranks, with its contract checked: for the tests of people who train with FSDP2."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch.distributed as dist

from ..catalogue.codes import PREFIX
from ..report.codec import finding_as_json, finding_from_json
from ..report.job import merge
from ..vocab.finding import Finding
from .api import Check, check
from .ranks import run_ranks


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """``results`` has what each rank returned, ``errors`` the tracebacks of those that failed, by rank."""

    results: list[Any]
    errors: Mapping[int, str]
    findings: list[Finding]

    def assert_clean(self) -> None:
        """Fail where a rank failed or where a clause is violated, with all findings in the message."""
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
) -> CheckedRun:
    """Call ``work(*args)`` on ``world_size`` ranks of one gloo group, which exists already when it is called.

    ``work``, its arguments and its result have to be picklable. ``steps`` is the number of
    optimizer steps that are watched, 0 for all; ``timeout`` is in seconds, for the whole run.
    """
    outcomes = run_ranks(_checked, world_size, work, args, steps, select, ignore, timeout=timeout)
    said = [outcome.result or _Said() for outcome in outcomes]
    findings = [(rank, finding_from_json(each)) for rank, own in enumerate(said) for each in own.findings]
    errors = {
        outcome.rank: own.error or outcome.error or f"ended with exit code {outcome.code}"
        for outcome, own in zip(outcomes, said)
        if own.error or outcome.code
    }
    return CheckedRun([own.result for own in said], errors, merge(findings))


@dataclass(slots=True)
class _Said:
    """What one rank sends back. What it found may be why it failed."""

    result: Any = None
    findings: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""


def _checked(
    work: Callable[..., Any], args: tuple[Any, ...], steps: int, select: tuple[str, ...], ignore: tuple[str, ...]
) -> _Said:
    said = _Said()
    watched: Check | None = None
    dist.init_process_group("gloo")
    try:
        with check(steps=steps, select=select, ignore=ignore) as watched:
            said.result = work(*args)
    except BaseException as error:
        said.error = "".join(traceback.format_exception(error))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    said.findings = [finding_as_json(each) for each in watched.findings] if watched is not None else []
    return said
