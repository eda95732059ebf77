"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fsdp2_lint.files.source import Sources, display_path
from fsdp2_lint.output.words import claim, proof
from fsdp2_lint.vocab.finding import Finding, Severity, Site

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Sequence[Finding], sources: Sources, *, color: bool = False) -> str:
    seen: Counter[str] = Counter()
    return json.dumps([_entry(finding, seen, sources) for finding in findings], indent=2) + "\n"


def _entry(finding: Finding, seen: Counter[str], sources: Sources) -> dict[str, Any]:
    return {
        "check_name": finding.code,
        "description": "; ".join([claim(finding), *proof(finding)]),
        "severity": _SEVERITIES[finding.severity],
        "fingerprint": _fingerprint(finding, seen),
        "location": {"path": _path(finding.primary.site.path), "positions": _positions(finding.primary.site, sources)},
    }


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """GitLab shows one entry per fingerprint, so no two are the same. What a job saw brings none."""
    own = finding.fingerprint or "\0".join(map(str, (*finding.key, finding.message)))
    seen[own] += 1
    return hashlib.sha256(f"{own}\0{seen[own]}".encode(errors="surrogatepass")).hexdigest()


def _path(path: str) -> str:
    """Relative to the checkout, which need not be where we stand."""
    checkout = os.environ.get("CI_PROJECT_DIR")
    below = os.path.relpath(path, os.path.realpath(checkout)) if checkout else os.pardir
    return (display_path(path) if below.startswith(os.pardir) else below).replace(os.sep, "/")


def _positions(site: Site, sources: Sources) -> dict[str, Any]:
    if site.cell:  # rows of a cell are no rows of the file, and its columns no columns of it
        at = {"line": sources.row_in_file(site), "column": 1}
        return {"begin": at, "end": at}
    begin, end = (site.row, site.column), (site.end_row, site.end_column)
    return {
        name: {"line": row, "column": column} for name, (row, column) in (("begin", begin), ("end", max(begin, end)))
    }
