"""For programs: an array of findings. Rows and columns count from 1, the end column is exclusive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fsdp2_lint.source import Sources
from fsdp2_lint.vocab.finding import Finding, Label, Site


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    return json.dumps([_finding(each) for each in findings], indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": finding.message,
        **place(finding.primary.site),
        "related": [related(label) for label in finding.related],
        "help": finding.help,
        "fix": None,
        "url": finding.url,
    }


def related(label: Label) -> dict[str, Any]:
    return {"message": label.message, **place(label.site)}


def place(site: Site) -> dict[str, Any]:
    # A site whose end is not known ends where it starts.
    return {
        "filename": site.path,
        "location": {"row": site.row, "column": site.column},
        "end_location": {"row": site.end_row or site.row, "column": site.end_column if site.end_row else site.column},
    }
