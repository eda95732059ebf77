"""For reviewdog: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf. Columns count bytes of UTF-8, from 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fsdp2_lint.files.source import Sources, display_path
from fsdp2_lint.output.terminal import clean
from fsdp2_lint.output.words import claim, context
from fsdp2_lint.vocab.finding import DOCS_URL, Finding, Severity, Site

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    told = {
        "source": {"name": "fsdp2-lint", "url": DOCS_URL.removesuffix("rules/")},
        "diagnostics": [_diagnostic(finding, sources) for finding in findings],
    }
    return json.dumps(told, indent=2) + "\n"


def _diagnostic(finding: Finding, sources: Sources) -> dict[str, Any]:
    at = finding.primary.site
    said = [claim(finding), *(f"seen: {clean(words)}" for words in context(finding)), f"help: {clean(finding.help)}"]
    told: dict[str, Any] = {
        "message": "\n".join(said),
        "location": _location(at, sources),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, "url": finding.url},
    }
    if finding.related:
        told["related_locations"] = [
            {"message": clean(label.message), "location": _location(label.site, sources)} for label in finding.related
        ]
    edits = finding.fix.edits if finding.fix is not None else ()
    # People take suggestions one by one: of a fix that needs several edits, one alone would break the program.
    if len(edits) == 1 and not edits[0].site.cell and edits[0].site.path == at.path:
        told["suggestions"] = [{"range": _range(edits[0].site, sources), "text": edits[0].text}]
    return told


def _location(site: Site, sources: Sources) -> dict[str, Any]:
    return {"path": display_path(site.path), "range": _range(site, sources)}


def _range(site: Site, sources: Sources) -> dict[str, Any]:
    if site.cell:
        return {"start": {"line": sources.row_in_file(site)}}
    start = {"line": site.row, "column": _bytes(site.path, site.row, site.column, sources)}
    if (site.end_row, site.end_column) < (site.row, site.column):  # its end is not known
        return {"start": start}
    return {
        "start": start,
        "end": {"line": site.end_row, "column": _bytes(site.path, site.end_row, site.end_column, sources)},
    }


def _bytes(path: str, row: int, column: int, sources: Sources) -> int:
    before = (sources.line(path, row) or "")[: column - 1]
    return column + len(before.encode("utf-8", "replace")) - len(before)
