"""What the processes of a rehearsal wrote, put together. Without torch: a report is read where it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..report.outcome import JobReport
from ..report.rank_file import rank_files, records
from ..vocab.finding import Finding, Site
from .part import Asked, Script
from .plan.codec import from_json
from .plan.shape import Checkpoint, Limit, MemoryProfile, Plan, Rehearsal, Rehearsed
from .plan.what_if import alternatives

Record = Mapping[str, Any]


def result(
    script: Script, asked: Asked, told: Sequence[tuple[Path, JobReport]], findings: Iterable[Finding]
) -> Rehearsal:
    """``told``: of each world size the folder and its report. OSError where a folder cannot be read."""
    written = [(report, [each for path in rank_files(folder) for each in records(path)]) for folder, report in told]
    limits = dict.fromkeys(_limit(each) for _, own in written for each in own if each["record"] == "limit")
    return Rehearsal(
        script=" ".join([*filter(None, [script.kind]), script.name]),
        arguments=script.arguments,
        depth=asked.depth,
        sizes=tuple(_of_size(report, own, asked.per_node) for report, own in written),
        findings=tuple(findings),
        limits=tuple(limits),
    )


def _limit(record: Record) -> Limit:
    return Limit(record["text"], Site(record["path"], record["row"]) if "path" in record else None)


def _of_size(report: JobReport, written: Sequence[Record], per_node: int) -> Rehearsed:
    """Of several models the one with the most numbers, as the rank sees it that holds the most of it."""
    plan = max(_read(Plan, "plan", written), key=lambda each: (each.numel, each.held), default=None)
    memory = max(_read(MemoryProfile, "memory", written), key=lambda each: each.peak.held.total, default=None)
    checkpoints = tuple(dict.fromkeys(_read(Checkpoint, "checkpoint", written)))
    others = alternatives(plan, per_node) if plan is not None else ()
    return Rehearsed(report.world_size, report.ranks, plan, memory, checkpoints, others)


def _read(kind: type[Any], name: str, written: Iterable[Record]) -> Iterator[Any]:
    return (from_json(kind, each[name]) for each in written if each["record"] == name)
