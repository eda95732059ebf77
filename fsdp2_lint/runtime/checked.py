"""A function on N gloo ranks, with its contract checked: for the tests of people who train with FSDP2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from ..report.codec import finding_as_json, finding_from_json
from ..report.job import merge
from ..vocab.finding import Finding
from .api import check
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
        assert not problems, "\n".join(problems)


def run_checked(
    work: Callable[..., Any],
    *args: Any,
    world_size: int = 2,
    steps: int = 0,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    timeout: float = 120.0,
) -> CheckedRun:
    """Call ``work(*args)`` on ``world_size`` ranks of one gloo group, which exists already when it is called.

    ``work``, its arguments and its result have to be picklable. ``steps`` is the number of
    optimizer steps that are watched, 0 for all; ``timeout`` is in seconds, for the whole run.
    """
    outcomes = run_ranks(_checked, world_size, work, args, steps, select, ignore, timeout=timeout)
    said: list[tuple[Any, list[dict[str, Any]]]] = [outcome.result or (None, []) for outcome in outcomes]
    findings = [(rank, finding_from_json(each)) for rank, (_, own) in enumerate(said) for each in own]
    errors = {
        outcome.rank: outcome.error or f"ended with exit code {outcome.code}" for outcome in outcomes if outcome.code
    }
    return CheckedRun([result for result, _ in said], errors, merge(findings))


def _checked(
    work: Callable[..., Any], args: tuple[Any, ...], steps: int, select: tuple[str, ...], ignore: tuple[str, ...]
) -> tuple[Any, list[dict[str, Any]]]:
    dist.init_process_group("gloo")
    try:
        with check(steps=steps, select=select, ignore=ignore) as watched:
            result = work(*args)
        return result, [finding_as_json(each) for each in watched.findings]
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
