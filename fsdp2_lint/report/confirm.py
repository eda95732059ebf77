"""What a job says to the findings and verdicts from the source. Both are matched by code and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..vocab.facts import in_words
from ..vocab.finding import Finding, Label
from .job import JobReport, JobVerdict

if TYPE_CHECKING:
    from ..static.result import ClauseVerdict, ModelVerdicts

CONFIRMED = "confirmed at run time"
NOT_REPRODUCED = "not reproduced at run time"
ONLY_THERE = "seen only at run time"


def confirm(findings: Sequence[Finding], job: JobReport) -> list[Finding]:
    """The findings from the source with their standing, and those that only the job has.

    *Not reproduced* needs a job that judged the clause and found it upheld: a clause that the job
    never came to leaves the finding as it is.
    """
    seen = {finding.key: finding for finding in job.findings}
    upheld = {verdict.code for verdict in job.verdicts if verdict.word == "upheld"}
    violated = {finding.code for finding in job.findings}
    told = []
    for finding in findings:
        met = [seen.pop((finding.code, at.path, at.row), None) for at in (finding.primary.site, *finding.also)]
        if (same := next(filter(None, met), None)) is not None:
            told.append(replace(finding, observed=same.observed, standing=CONFIRMED))
        elif finding.code in upheld - violated:
            told.append(replace(finding, standing=f"{NOT_REPRODUCED} ({_extent(job)})"))
        else:
            told.append(finding)
    told.extend(replace(finding, standing=ONLY_THERE) for finding in seen.values())
    return sorted(told, key=lambda each: (each.primary.site, each.code))


def settle(models: Sequence[ModelVerdicts], job: JobReport) -> list[ModelVerdicts]:
    """The verdicts from the source, where *unknown* gives way to what the job saw."""
    return [
        replace(model, clauses=tuple(_settled(model.label, clause, job) for clause in model.clauses))
        for model in models
    ]


def _settled(label: str, clause: ClauseVerdict, job: JobReport) -> ClauseVerdict:
    if clause.word != "unknown":
        return clause
    verdicts = [verdict for verdict in job.verdicts if verdict.code == clause.code]
    own = [verdict for verdict in verdicts if verdict.model == label] or verdicts
    words = {verdict.word for verdict in own}
    found = [finding for finding in job.findings if finding.code == clause.code]
    if found and "violated" in words:
        evidence = tuple(label for finding in found for label in (finding.primary, *finding.related))
        return replace(clause, word="violated", evidence=evidence, reasons=(), settled_by=_source(job))
    if words == {"upheld"}:
        return replace(clause, word="upheld", evidence=_judged(own), reasons=(), settled_by=_source(job))
    return clause


def _judged(verdicts: Sequence[JobVerdict]) -> tuple[Label, ...]:
    sites = dict.fromkeys(verdict.judged for verdict in verdicts if verdict.judged is not None)
    return tuple(Label(site, "judged here") for site in sites)


def _source(job: JobReport) -> str:
    return f"the job ({_extent(job)})"


def _extent(job: JobReport) -> str:
    steps = f"{job.steps} step{'s' if job.steps != 1 else ''}"
    return f"{steps}, {in_words(job.ranks) if job.ranks else 'no rank'}"
