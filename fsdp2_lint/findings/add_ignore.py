"""Comments for findings that a project wants to live with."""

from __future__ import annotations

import tokenize
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fsdp2_lint.files import syntax
from fsdp2_lint.files.edits import Text
from fsdp2_lint.files.source import Sources
from fsdp2_lint.findings import unused
from fsdp2_lint.findings.suppress import OUTSIDE_STATEMENTS, tokens
from fsdp2_lint.vocab.finding import Edit, Finding, Site

_NOT_SILENCED = (syntax.CODE, unused.CODE)  # the one has no statement, the other is about comments


@dataclass(slots=True)
class Ignored:
    """``changed`` holds the files with their comments, ``left`` the findings that no comment can silence."""

    changed: dict[str, bytes] = field(default_factory=dict)
    silenced: list[Finding] = field(default_factory=list)
    left: list[Finding] = field(default_factory=list)


def with_ignores(findings: Iterable[Finding], sources: Sources, files: Collection[str], reason: str = "") -> Ignored:
    """A comment above a statement of each finding: the first of its places that lies in one of ``files``."""
    told = Ignored()
    wanted: dict[str, dict[int, list[Finding]]] = {}
    for finding in findings:
        path, row = _place(finding, sources, files)
        if row:
            wanted.setdefault(path, {}).setdefault(row, []).append(finding)
        else:
            told.left.append(finding)
    for path, rows in wanted.items():
        data = _commented(path, rows, sources, " ".join(reason.split()))
        mine = [finding for each in rows.values() for finding in each]
        if data is None:
            told.left += mine
        else:
            told.changed[path] = data
            told.silenced += mine
    return told


def _place(finding: Finding, sources: Sources, files: Collection[str]) -> tuple[str, int]:
    """Where the statement begins that the comment goes above; row 0 if there is none."""
    if finding.code not in _NOT_SILENCED:
        for site in finding.sites:
            # The rows of a notebook's cell are not those of its file.
            if site.path in files and not site.cell and (row := _first_row(sources.data(site.path), site.row)):
                return site.path, row
    return finding.primary.site.path, 0


def _commented(path: str, rows: dict[int, list[Finding]], sources: Sources, reason: str) -> bytes | None:
    """None if the file cannot hold the comments: its encoding does not know the reason, or Python reads more in it."""
    edits = []
    for row, findings in rows.items():
        line = sources.line(path, row) or ""
        indent = line[: len(line) - len(line.lstrip())]
        codes = ", ".join(sorted({finding.code for finding in findings}))
        said = f"# fsdp2-lint: ignore[{codes}] {reason}".rstrip()
        edits.append(Edit(Site(path, row, 1, row, 1), f"{indent}{said}\n"))
    try:
        data = Text(sources.data(path)).edited(edits)
    except ValueError:
        return None
    return data if syntax.problem(path, data) is None else None


def _first_row(data: bytes, row: int) -> int:
    """Where the statement that a row belongs to begins; 0 if the file cannot be divided into tokens up to there."""
    first = 0
    for token in tokens(data):
        if not first and token.type not in OUTSIDE_STATEMENTS:
            first = token.start[0]
        if first and token.type == tokenize.NEWLINE:
            if first <= row <= token.end[0]:
                return first
            first = 0
    return 0
