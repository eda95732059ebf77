"""One run: files in, findings out. The command line and the tests call this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp2_lint import syntax
from fsdp2_lint.discovery import Discovered, discover
from fsdp2_lint.errors import NothingToCheck
from fsdp2_lint.source import Sources, display_path, finding_in_characters, labels_in_characters
from fsdp2_lint.vocab.target import NEWEST, Version

if TYPE_CHECKING:
    from fsdp2_lint.static.check import ModelVerdicts, Result
    from fsdp2_lint.vocab.finding import Finding


@dataclass(slots=True)
class Report:
    """What a run says. ``failures`` are about the run itself, each one line: they make it abnormal."""

    findings: list[Finding] = field(default_factory=list)
    silenced: list[Finding] = field(default_factory=list)
    models: list[ModelVerdicts] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    files: int = 0
    candidates: int = 0
    target: Version = NEWEST
    sources: Sources = field(default_factory=Sources)


def lint(
    paths: Sequence[str],
    *,
    stdin: tuple[str, bytes] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    target: Version | None = None,
    dump_trace: bool = False,
) -> Report:
    """Check ``paths``. A code that does not exist raises :class:`UnknownCode`.

    ``target`` is the torch that the code is to run on; None leaves that to the project's settings and pins.
    """
    words: set[str] = set()
    if select or ignore:  # a misspelt code is an error even where there is nothing to find
        from fsdp2_lint import registry

        chosen, _ = registry.select(registry.rules(), select, ignore)
        words.update(word for rule in chosen for word in rule.words)
    found = discover(paths, stdin=stdin, words=sorted(words))
    report = Report(files=len(found.files), candidates=len(found.candidates), sources=Sources(found.overlay))
    report.failures = [f"{display_path(path)}: {reason}" for path, reason in found.errors]
    if not found.files and not found.errors:
        raise NothingToCheck(f"no Python files in {', '.join(paths)}")
    candidates = set(found.candidates)
    for path, data in found.explicit.items():
        if path not in candidates and (problem := syntax.problem(path, data)):
            _report_problem(report, path, *problem)
    if found.candidates:
        _run_engine(report, found, select, ignore, target, dump_trace)
    report.findings.sort(key=_place)
    return report


def _run_engine(
    report: Report,
    found: Discovered,
    select: Sequence[str],
    ignore: Sequence[str],
    target: Version | None,
    dump_trace: bool,
) -> None:
    # A tree without FSDP2 never comes here, and so never pays for these imports.
    from fsdp2_lint import registry
    from fsdp2_lint.settings import settings
    from fsdp2_lint.static.check import check
    from fsdp2_lint.static.pins import pinned_torch
    from fsdp2_lint.suppress import partition

    set_by_project = settings(found.root)
    stated = target or set_by_project.target_torch
    rules, selection = registry.select(registry.rules(), select, (*ignore, *set_by_project.answered))
    report.target = stated or pinned_torch(Path(found.root)) or NEWEST
    result: Result = check(
        found.files,
        root=found.root,
        explicit=set(found.explicit),
        overlay=found.overlay or None,
        rules=registry.for_target((rule for rule in rules if "S" in rule.witnesses), report.target),
        target=stated,
        dump_trace=dump_trace,
    )
    asked = set(found.files)
    # Imports lead out of the files that were given: what lies wholly elsewhere was not asked for.
    of_interest = [
        finding_in_characters(finding, report.sources)
        for finding in result.findings
        if selection.shows(finding) and any(site.path in asked for site in finding.sites)
    ]
    shown, report.silenced = partition(of_interest, report.sources)
    report.findings.extend(shown)
    report.models = [
        replace(
            model,
            site=report.sources.in_characters(model.site),
            clauses=tuple(
                replace(clause, evidence=labels_in_characters(clause.evidence, report.sources))
                for clause in model.clauses
            ),
        )
        for model in result.models
        if model.site.path in asked
    ]
    report.traces = list(result.traces)
    report.failures.extend(f"internal error in {what}: {error}" for what, error in result.broken)
    report.notes.extend(f"out of budget, so its verdicts are unknown: {entry}" for entry in result.out_of_budget)
    for problem in result.problems:
        if problem.path in asked:
            _report_problem(report, problem.path, problem.row, problem.column, problem.message)
        else:
            report.notes.append(f"not followed: {display_path(problem.path)}:{problem.row}: {problem.message}")


def _report_problem(report: Report, path: str, row: int, column: int, message: str) -> None:
    if syntax.is_syntax_error(message):
        report.findings.append(syntax.finding(path, row, column, message))
    else:
        report.failures.append(f"{display_path(path)}: {message}")


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    site = finding.primary.site
    return site.path, site.row, site.column, finding.code, finding.message
