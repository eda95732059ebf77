"""Comments for findings that a project wants to live with."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fsdp2_lint.edits import Text
from fsdp2_lint.source import Sources
from fsdp2_lint.vocab.finding import Edit, Site

if TYPE_CHECKING:
    from fsdp2_lint.vocab.finding import Finding

_BEFORE = frozenset({tokenize.ENCODING, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT})


def with_ignores(findings: Iterable[Finding], sources: Sources, reason: str = "") -> Mapping[str, bytes]:
    """The files with a comment above the statement of each finding. Findings that no comment can silence are left."""
    wanted: dict[str, dict[int, set[str]]] = {}
    for finding in findings:
        path = finding.primary.site.path
        first = _first_row(sources.data(path), finding.primary.site.row)
        if first is not None:
            wanted.setdefault(path, {}).setdefault(first, set()).add(finding.code)
    changed = {}
    for path, rows in wanted.items():
        text = Text(sources.data(path))
        edits = []
        for row, codes in rows.items():
            line = sources.line(path, row) or ""
            indent = line[: len(line) - len(line.lstrip())]
            said = f"# fsdp2-lint: ignore[{', '.join(sorted(codes))}] {' '.join(reason.split())}".rstrip()
            edits.append(Edit(Site(path, row, 1, row, 1), f"{indent}{said}\n"))
        changed[path] = text.edited(edits)
    return changed


def _first_row(data: bytes, row: int) -> int | None:
    """Where the statement that a row belongs to begins; None if the file cannot be divided into tokens up to there."""
    first = 0
    try:
        lines = io.BytesIO(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        for token in tokenize.tokenize(lines.readline):
            if not first and token.type not in _BEFORE:
                first = token.start[0]
            if first and token.type == tokenize.NEWLINE:
                if first <= row <= token.end[0]:
                    return first
                first = 0
    except (tokenize.TokenError, SyntaxError):
        pass
    return None
