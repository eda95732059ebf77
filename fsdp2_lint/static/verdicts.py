"""What a run says of each model, and of each program where it belongs to no model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from ..vocab.finding import Finding, Label, Site
from ..vocab.rule import Dispatcher, ModelKey, ProgramKey, Verdict
from .result import ModelVerdicts, ProgramVerdicts, RuleVerdict
from .seen import Extent

T = TypeVar("T")
_SETTLED_BY = {"R": "runtime", "P": "preflight"}


def findings_of(verdicts: Iterable[Verdict]) -> list[Finding]:
    """One finding a fault: the same code on the same line is one."""
    found: dict[tuple[str, str, int], Finding] = {}
    for verdict in verdicts:
        for finding in verdict.findings:
            kept = found.get(finding.key)
            if kept is None or _weight(finding) > _weight(kept):
                found[finding.key] = finding
    return [*found.values()]


def _weight(finding: Finding) -> tuple[bool, int]:
    return finding.severity.value == "error", len(finding.related)


def of_models(dispatcher: Dispatcher, judged_by: Mapping[str, str]) -> list[ModelVerdicts]:
    by_model = _by_subject(dispatcher, ModelKey)
    models = [
        ModelVerdicts(model.label, model.site, _rules(verdicts, judged_by), _places(verdicts))
        for model, verdicts in by_model.items()
    ]
    return sorted(models, key=lambda model: (model.site, model.label))


def _places(verdicts: Iterable[Verdict]) -> frozenset[tuple[str, int]]:
    sites = (site for verdict in verdicts for site in (*verdict.judged, *verdict.unknown.values()))
    return frozenset((site.path, site.row) for site in sites)


def of_programs(
    dispatcher: Dispatcher,
    extents: Mapping[ProgramKey, Extent],
    cut_off: Collection[ProgramKey],
    judged_by: Mapping[str, str],
) -> list[ProgramVerdicts]:
    """Of each program that was followed, and of each file of which the text says something."""
    by_program = _by_subject(dispatcher, ProgramKey)
    programs = []
    for program in dict.fromkeys([*extents, *by_program]):
        rules = _rules(by_program.get(program, ()), judged_by)
        calls = tuple(extents[program].unfollowed) if program in extents else ()
        site, ended = Site(program.path, 1), program not in cut_off
        programs.append(ProgramVerdicts(program.kind, program.name, site, rules, calls, ended))
    return sorted(programs, key=lambda each: (each.kind != "script", each.site, each.name))


def _by_subject(dispatcher: Dispatcher, kind: type[T]) -> dict[T, list[Verdict]]:
    found: dict[T, list[Verdict]] = {}
    for verdict in dispatcher.verdicts.values():
        if isinstance(verdict.subject, kind):
            found.setdefault(verdict.subject, []).append(verdict)
    return found


def _rules(verdicts: Iterable[Verdict], judged_by: Mapping[str, str]) -> tuple[RuleVerdict, ...]:
    judged = (verdict for verdict in verdicts if verdict.findings or verdict.unknown or verdict.judged)
    rules = (_rule(verdict, judged_by[verdict.code]) for verdict in judged)
    return tuple(sorted(rules, key=lambda each: each.code))


def _rule(verdict: Verdict, judged_by: str) -> RuleVerdict:
    evidence: tuple[Label, ...] = ()
    if verdict.word == "violated":
        evidence = tuple(label for finding in verdict.findings for label in (finding.primary, *finding.related))
    elif verdict.word == "upheld":
        evidence = tuple(Label(site, because) for site, because in verdict.judged.items())
    reasons = tuple(verdict.unknown) if verdict.word == "unknown" else ()
    settled = ", ".join(word for letter, word in _SETTLED_BY.items() if letter in judged_by)
    return RuleVerdict(verdict.code, verdict.word, evidence, reasons, settled if verdict.word == "unknown" else "")
