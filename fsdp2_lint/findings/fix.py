"""Mends what findings can mend: round after round in memory, until nothing is left that may be result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fsdp2_lint.errors import CostsOnly
from fsdp2_lint.files import syntax
from fsdp2_lint.files.edits import Span, Text, overlap
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings.outcome import Report

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Edit, Finding

MAX_ROUNDS = 10


@dataclass(slots=True)
class Fixed:
    """``report`` is of the files as ``changed`` has them, ``before`` of them as they were: ``originals``."""

    before: Report
    report: Report
    changed: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)
    applied: list[Finding] = field(default_factory=list)


def fix_all(check: Callable[[Mapping[str, bytes]], Report], *, unsafe: bool) -> Fixed:
    """``check`` judges the project with files as given. Nothing is written; a file that would not parse stays as is."""
    before = check({})
    result = Fixed(before, before)
    defects: dict[str, str] = {}
    for _ in range(MAX_ROUNDS):
        report = result.report
        wanted = [*report.fixable(safe=True), *(report.fixable(safe=False) if unsafe else ())]
        chosen = _together([each for each in wanted if _works(each, report.sources, defects)], report.sources)
        changed = _edited(chosen, report.sources)
        if None in changed.values():  # whose edits spoil a file must not cost the others
            chosen = [each for each in chosen if None not in _edited([each], report.sources).values()]
            changed = _edited(chosen, report.sources)
        while spoilt := {path for path, data in changed.items() if data is None}:
            chosen = [each for each in chosen if not spoilt & {edit.site.path for edit in _edits(each)}]
            changed = _edited(chosen, report.sources)
        if not chosen:
            break
        for path, data in changed.items():
            if data is not None:
                result.originals.setdefault(path, report.sources.data(path))
                result.changed[path] = data
        result.applied.extend(chosen)
        result.report = check(result.changed)
    for part, defect in defects.items():
        result.report.broke(part, defect)
    return result


def _works(finding: Finding, sources: Sources, defects: dict[str, str]) -> bool:
    """Can its edits be tried, whatever comes of it? If not, only this finding stays as it is."""
    site = finding.primary.site
    with CostsOnly(f"the fix of {finding.code} at {site.path}:{site.row}", defects.__setitem__):
        _edited([finding], sources)
        return True
    return False


def _together(wanted: Sequence[Finding], sources: Sources) -> list[Finding]:
    """Those whose edits touch no text of others; the rest has its turn in the next round."""
    texts: dict[str, Text] = {}
    taken: dict[str, list[Span]] = {}
    chosen = []
    for finding in wanted:
        spans: dict[str, list[Span]] = {}
        for edit in _edits(finding):
            path = edit.site.path
            spans.setdefault(path, []).append(texts.setdefault(path, Text(sources.data(path))).span(edit.site))
        if not any(overlap(mine, taken.get(path, ())) for path, mine in spans.items()):
            chosen.append(finding)
            for path, mine in spans.items():
                taken.setdefault(path, []).extend(mine)
    return chosen


def _edited(findings: Sequence[Finding], sources: Sources) -> dict[str, bytes | None]:
    """Each file as it will be; None where that is no Python, or nothing that the file's encoding can write."""
    edits: dict[str, list[Edit]] = {}
    for finding in findings:
        for edit in _edits(finding):
            edits.setdefault(edit.site.path, []).append(edit)
    changed: dict[str, bytes | None] = {}
    for path, mine in edits.items():
        try:
            data = Text(sources.data(path)).edited(mine)
        except ValueError:
            changed[path] = None
        else:
            changed[path] = data if syntax.problem(path, data) is None else None
    return changed


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()
