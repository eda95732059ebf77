"""What a job says to the findings and verdicts from the source. Both are matched by code and line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..vocab.facts import in_words
from ..vocab.finding import Finding, Label, Site
from .outcome import JobReport, JobVerdict

if TYPE_CHECKING:
    from ..static.result import ModelVerdicts, RuleVerdict

Place = tuple[str, int]  # path and row

CONFIRMED = "confirmed"  # and behind each of these where: at run time, or in a rehearsal
NOT_REPRODUCED = "not reproduced"
ONLY_THERE = "seen only"


def confirm(findings: Sequence[Finding], job: JobReport) -> list[Finding]:
    """The findings from the source with their standing, and those that only the job has.

    *Not reproduced* needs a job that loaded the file, judged the rule and found it upheld: what the
    job never came to leaves the finding as it is.
    """
    seen = {finding.key: finding for finding in job.findings}
    upheld = {verdict.code for verdict in job.verdicts if verdict.word == "upheld" and job.all_judged}
    violated = {finding.code for finding in job.findings}
    told = []
    for finding in findings:
        met = [seen.pop((finding.code, at.path, at.row), None) for at in (finding.primary.site, *finding.also)]
        if (same := next(filter(None, met), None)) is not None:
            told.append(replace(finding, observed=same.observed, standing=f"{CONFIRMED} {_where(job)}"))
        elif finding.code in upheld - violated and finding.primary.site.path in job.files:
            told.append(replace(finding, standing=f"{NOT_REPRODUCED} {_where(job)} ({_extent(job)})"))
        else:
            told.append(finding)
    told.extend(replace(finding, standing=f"{ONLY_THERE} {_where(job)}") for finding in seen.values())
    return sorted(told, key=lambda each: (each.primary.site, each.code))


def settle(models: Sequence[ModelVerdicts], job: JobReport) -> list[ModelVerdicts]:
    """The verdicts from the source, where *unknown* gives way to what the job saw.

    A model of the job is one of the source that is sharded at the same place. Names do not count:
    other programs have models of the same name.
    """
    shared = Counter(place for model in models for place in model.judged)
    return [replace(model, rules=tuple(_settled(model, rule, job, shared) for rule in model.rules)) for model in models]


def _settled(model: ModelVerdicts, rule: RuleVerdict, job: JobReport, shared: Counter[Place]) -> RuleVerdict:
    if rule.word != "unknown":
        return rule
    own = [each for each in job.verdicts if each.code == rule.code and _place(each.at) in model.judged]
    words = {verdict.word for verdict in own}
    if words == {"upheld"} and job.all_judged:
        return replace(rule, word="upheld", evidence=_judged(own), reasons=(), settled_by=_source(job))
    if words == {"violated"} and all(shared[_place(each.at)] == 1 for each in own):  # else it may be the other's
        if evidence := tuple(label for finding in _about(model, rule.code, job) for label in _story(finding)):
            return replace(rule, word="violated", evidence=evidence, reasons=(), settled_by=_source(job))
    return rule


def _about(model: ModelVerdicts, code: str, job: JobReport) -> list[Finding]:
    """The findings of the job in whose story the model is. They carry no model."""
    own = (finding for finding in job.findings if finding.code == code)
    return [finding for finding in own if any(_place(label.site) in model.judged for label in _story(finding))]


def _story(finding: Finding) -> tuple[Label, ...]:
    return (finding.primary, *finding.related)


def _place(site: Site | None) -> Place:
    return ("", 0) if site is None else (site.path, site.row)


def _judged(verdicts: Sequence[JobVerdict]) -> tuple[Label, ...]:
    sites = dict.fromkeys(verdict.judged for verdict in verdicts if verdict.judged is not None)
    return tuple(Label(site, "judged here") for site in sites)


def _where(job: JobReport) -> str:
    return f"in a rehearsal of {job.world_size:,} ranks" if job.rehearsed else "at run time"


def _source(job: JobReport) -> str:
    return f"the {'rehearsal' if job.rehearsed else 'job'} ({_extent(job)})"


def _extent(job: JobReport) -> str:
    steps = f"{job.steps} step{'s' if job.steps != 1 else ''}"
    return f"{steps}, {in_words(job.ranks) if job.ranks else 'no rank'}"
