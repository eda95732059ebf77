"""The static analysis's front door: files in, findings and verdicts out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..errors import CostsOnly
from ..files.problems import Problem
from ..vocab.causes import one_for_each_cause
from ..vocab.finding import Finding, Label, Seen, Site
from ..vocab.overlaps import without_consequences
from ..vocab.rule import Dispatcher, ModelKey, Rule, Verdict
from ..vocab.target import Version
from . import garbage
from .budget import BUDGET, Budget
from .driver import Driver
from .frontend.lookup import Surroundings
from .frontend.project import Project
from .seen import Sight

_STACK = 512 * 1024 * 1024  # the interpreter follows calls by recursion; a thread can have room for it
_RECURSION = 40_000
_SETTLED_BY = {"R": "runtime", "P": "preflight"}


@dataclass(frozen=True, slots=True)
class ClauseVerdict:
    code: str
    word: Literal["violated", "upheld", "unknown"]
    evidence: tuple[Label, ...]
    reasons: tuple[str, ...]
    settled_by: str


@dataclass(frozen=True, slots=True)
class ModelVerdicts:
    label: str
    site: Site
    clauses: tuple[ClauseVerdict, ...]


@dataclass(slots=True)
class Result:
    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    models: list[ModelVerdicts] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)  # of models, programs and files, whether or not anything was found
    files: int = 0
    out_of_budget: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    texts: Mapping[str, bytes] = field(default_factory=dict)  # what was read: findings are places in these


def check(
    files: Sequence[str],
    *,
    root: str,
    explicit: Collection[str] = (),
    overlay: Mapping[str, bytes] | None = None,
    rules: Sequence[Rule],
    target: Version | None = None,
    source_roots: Sequence[str] = (),
    entry_points: Sequence[str] = (),
    dump_trace: bool = False,
    budget: Budget = BUDGET,
    progress: Callable[[str], None] | None = None,
    within: Surroundings | None = None,
) -> Result:
    """Analyse ``files`` as one program. Nothing in them is imported or executed.

    ``explicit`` names the files that the user asked for one by one: those are entry points
    even if they look like tests. ``overlay`` gives contents that are not on disk. ``target`` is
    the torch that was stated for all files; None leaves it to what each says it runs on.
    ``source_roots`` are folders for absolute imports, ``entry_points`` files (``train.py``) or functions
    (``train.py:main``) that come first. ``budget`` is what each program may cost. ``progress`` is told each entry.
    ``within`` is the project of which ``files`` are a part; None if they are all of it.
    """
    result = Result(files=len(files))
    failure: list[BaseException] = []
    project = Project(Path(root), dict(overlay or {}), [Path(each) for each in source_roots])
    project.take(sorted(set(files)), within)  # the order in which files are given means nothing
    project.target = target
    project.entry_points = list(entry_points)

    def work() -> None:
        try:
            with garbage.by_hand():
                driver = Driver(
                    project,
                    rules,
                    explicit=frozenset(explicit),
                    keep_traces=dump_trace,
                    budget=budget,
                    progress=progress,
                )
                _check(result, project, driver, rules)
        except BaseException as error:  # handed over to the caller's thread
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        thread = threading.Thread(target=work, name="fsdp2-lint")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failure:
        raise failure[0]
    result.texts = project.texts
    return result


def _check(result: Result, project: Project, driver: Driver, rules: Sequence[Rule]) -> None:
    """Follow and judge all programs; the result says what was not seen."""
    dispatcher = driver.dispatcher
    driver.run()
    with CostsOnly("what causes what", project.note):
        result.findings = list(_findings(dispatcher).values())
        result.findings = without_consequences(result.findings, driver.found_in)
    with CostsOnly("what was seen", project.note):
        torch = rules[0].target if rules else None
        sight = Sight(dispatcher.verdicts.values(), driver.extents, project.unreadable, project.ast, torch)
        result.seen = list(sight.found.values())
        result.findings = [replace(each, about=sight.about(each)) for each in result.findings]
    with CostsOnly("what one edit would mend", project.note):
        result.findings = one_for_each_cause(result.findings)
    with CostsOnly("the verdicts of the models", project.note):
        result.models = _models(dispatcher, {rule.code: rule.witnesses for rule in rules})
    result.problems = [
        Problem(each.path, each.row, each.column, each.reason, each.needs) for each in project.unreadable.values()
    ]
    result.out_of_budget, result.notes = driver.out_of_budget, driver.notes
    result.broken = [*((code, f"{type(error).__name__}: {error}") for code, error in dispatcher.broken), *driver.broken]
    result.traces = driver.traces


def _findings(dispatcher: Dispatcher) -> dict[tuple[str, str, int], Finding]:
    """One finding a fault: the same code on the same line is one."""
    found: dict[tuple[str, str, int], Finding] = {}
    for verdict in dispatcher.verdicts.values():
        for finding in verdict.findings:
            kept = found.get(finding.key)
            if kept is None or _weight(finding) > _weight(kept):
                found[finding.key] = finding
    return found


def _weight(finding: Finding) -> tuple[bool, int]:
    return finding.severity.value == "error", len(finding.related)


def _models(dispatcher: Dispatcher, witnesses: Mapping[str, str]) -> list[ModelVerdicts]:
    by_model: dict[ModelKey, list[Verdict]] = {}
    for verdict in dispatcher.verdicts.values():
        if isinstance(verdict.subject, ModelKey):
            by_model.setdefault(verdict.subject, []).append(verdict)
    models = []
    for subject, verdicts in by_model.items():
        clauses = [
            _clause(verdict, witnesses[verdict.code])
            for verdict in verdicts
            if verdict.findings or verdict.unknown or verdict.judged
        ]
        models.append(ModelVerdicts(subject.label, subject.site, tuple(sorted(clauses, key=lambda each: each.code))))
    return sorted(models, key=lambda model: (model.site, model.label))


def _clause(verdict: Verdict, witnesses: str) -> ClauseVerdict:
    evidence: tuple[Label, ...] = ()
    if verdict.word == "violated":
        evidence = tuple(label for finding in verdict.findings for label in (finding.primary, *finding.related))
    elif verdict.word == "upheld":
        evidence = tuple(Label(site, because) for site, because in verdict.judged.items())
    reasons = tuple(verdict.unknown) if verdict.word == "unknown" else ()
    settled = ", ".join(word for letter, word in _SETTLED_BY.items() if letter in witnesses)
    return ClauseVerdict(verdict.code, verdict.word, evidence, reasons, settled if verdict.word == "unknown" else "")
